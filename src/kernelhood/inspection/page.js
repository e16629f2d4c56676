document.querySelectorAll("table.sortable thead button").forEach(button => {
  button.addEventListener("click", () => {
    const head = button.closest("th"), table = head.closest("table");
    const column = head.cellIndex, body = table.tBodies[0];
    const up = head.getAttribute("aria-sort") !== "ascending";
    table.querySelectorAll("th").forEach(other => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const key = row => row.cells[column].dataset.value;
    const order = (a, b) => {
      const x = key(a), y = key(b);
      if (x === "" || y === "") return (x === "") - (y === "");
      const sign = up ? 1 : -1;
      return sign * (isNaN(x) || isNaN(y) ? x.localeCompare(y) : x - y);
    };
    [...body.rows].sort(order).forEach(row => body.appendChild(row));
  });
});
