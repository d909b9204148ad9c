"""
The perceptron's proof
======================

A perceptron makes few mistakes, whatever the order of the samples. Three lines show why.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from mercer import KernelPerceptron
from mercer.plots import DecisionSurfaceDisplay, MistakeDisplay

X, y = make_moons(300, noise=0.1, random_state=0)
model = KernelPerceptron(gamma=5.0).fit(X, y)
print(model.margin_report(X, y))
DecisionSurfaceDisplay.from_estimator(model, X, y)

# %%
# θ* is the unit normal of the plane with the largest margin M in feature space, and θₜ the machine
# after its t-th mistake. Each mistake moves θ along θ* by M at least. Its squared length grows by
# R² at most, because only samples on the wrong side change it. So the cosine between the two is
# at least √t M / R; and no cosine is above 1.
MistakeDisplay.from_estimator(model, X, y)
plt.show()
