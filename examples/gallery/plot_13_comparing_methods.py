"""
Comparing methods with statistics
=================================

``paper.run`` repeats the paper's protocol on any data: random splits, parameters chosen on
validation rows, scores on test rows. ``findings`` reports Friedman's and Holm's tests in words.
"""

import kernelhood as kh
from kernelhood import paper

data = kh.datasets.make_multitask(8, 60, kind="classification", relatedness=0.7, random_state=0)
methods = ["itl", "avmtmkl", "mt-mkl", "mt-onmkl", "mt-onmkl-mixed", "pooled"]
results = paper.run({"synthetic": data}, methods, runs=3)
for sentence in paper.findings(results):
    print(sentence)

# %%
# Large dots are means over tasks and runs, small ones tasks.
print(paper.headline(results))
figure = paper.plot_scores(results)
