import numpy as np

from kernelhood.solvers.layout import cells_of, one_task


def test_a_task_on_its_own_is_one_cell():
    layout = one_task(4)
    assert layout.n_tasks == 1
    assert layout.plain
    assert layout.component_starts.tolist() == [0, 4]
    assert layout.reach.tolist() == [[0, 4]]


def test_cells_reach_as_far_as_their_component():
    sizes, task, component = np.array([2, 3, 1]), np.array([0, 1, 1]), np.array([0, 0, 1])
    layout = cells_of(np.arange(6), sizes, task, component)
    assert layout.starts.tolist() == [0, 2, 5, 6]
    assert layout.cell.tolist() == [0, 0, 1, 1, 1, 2]
    assert layout.reach.tolist() == [[0, 5], [0, 5], [5, 6]]
    assert layout.component_starts.tolist() == [0, 5, 6]
    assert layout.n_tasks == 2
    assert layout.plain
    assert not cells_of(np.array([0, 1, 0, 1, 2, 0]), sizes, task, component).plain
