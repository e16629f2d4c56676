import numpy as np

from kernelhood.operators import cells_of, one_cell


def test_a_task_on_its_own_is_one_cell():
    cells = one_cell(4)
    assert cells.point.tolist() == [0, 1, 2, 3]
    assert cells.cell.tolist() == [0, 0, 0, 0]
    assert cells.starts.tolist() == [0, 4]
    assert cells.task.tolist() == [0]
    assert cells.plain


def test_cells_are_the_samples_of_the_tasks_side_by_side():
    sizes, task = np.array([2, 3, 1]), np.array([0, 1, 3])
    cells = cells_of(np.arange(6), sizes, task)
    assert cells.starts.tolist() == [0, 2, 5, 6]
    assert cells.cell.tolist() == [0, 0, 1, 1, 1, 2]
    assert cells.task.tolist() == [0, 1, 3]
    assert cells.plain
    assert not cells_of(np.array([0, 1, 0, 1, 2, 0]), sizes, task).plain
