"""scikit-learn estimators: each is a few lines over a Gram operator and a solver."""
