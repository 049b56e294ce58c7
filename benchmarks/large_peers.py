"""What many rows are fitted with elsewhere: trees, other approximations of Gaussian processes, kernels by columns.

Each is a function of training rows, targets and test rows, run as its manual advises for rows like these: features
standardised where distances matter, one length scale per feature, other settings as they are by default. Trees and
ridge regression have no error bars of their own; theirs are the standard deviation of five-fold residuals, which is not
in their time.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import MiniBatchKMeans
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

#: Rows and features up to which support vector machines of all rows run.
MOST_ROWS = 10_000
MOST_COORDINATES = 10
#: Passes of stochastic variational inference over the rows, and rows of a step.
EPOCHS = 100
BATCH = 512
#: Columns of Nystroem's approximation, and multiples of one over the number of features that are tried as gamma.
COLUMNS = 500
GAMMAS = (0.1, 0.3, 1.0)

#: Means and standard deviations (None: not of its own) at test rows.
Predicted = tuple[np.ndarray, np.ndarray | None]
Regressor = Callable[[np.ndarray, np.ndarray, np.ndarray], Predicted]


def installed(name: str) -> bool:
    """Whether a peer can be imported."""
    return importlib.util.find_spec(name) is not None


# -- regression ----------------------------------------------------------------------------------------------------
def pointwise(model: Any) -> Regressor:
    """Return the function of a regressor in scikit-learn's manner without error bars."""
    return lambda X, y, Xt: (clone(model).fit(X, y).predict(Xt), None)


def residual_deviation(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """Return the standard deviation of the residuals of five folds."""
    return float(np.std(y - cross_val_predict(clone(model), X, y, cv=5)))


def gpboost(**approximation: Any) -> Regressor:
    """Return the function of one of GPBoost's approximations."""

    def run(X: np.ndarray, y: np.ndarray, Xt: np.ndarray) -> Predicted:
        import gpboost

        scale, mean, spread = StandardScaler().fit(X), y.mean(), y.std()
        inputs = {"gp_coords": scale.transform(X), "cov_function": "matern_ard", "cov_fct_shape": 1.5}
        model = gpboost.GPModel(**inputs, likelihood="gaussian", seed=0, **approximation)
        model.fit(y=(y - mean) / spread)
        found = model.predict(gp_coords_pred=scale.transform(Xt), predict_var=True, predict_response=True)
        return mean + spread * found["mu"], spread * np.sqrt(found["var"])

    return run


def svgp(X: np.ndarray, y: np.ndarray, Xt: np.ndarray) -> Predicted:
    """Return the predictions of GPyTorch's stochastic variational machine.

    500 inducing inputs that begin at the centres of clusters and are learnt like the kernel, by 100 passes of Adam with
    a rate of 0.01, which falls to a tenth of it for the last fifth.
    """
    import gpytorch
    import torch

    torch.manual_seed(0)
    torch.set_num_threads(1)
    scale, mean, spread = StandardScaler().fit(X), y.mean(), y.std()
    inputs, targets = torch.tensor(scale.transform(X)), torch.tensor((y - mean) / spread)

    class Machine(gpytorch.models.ApproximateGP):
        def __init__(self, Z: Any) -> None:
            shape = gpytorch.variational.CholeskyVariationalDistribution(len(Z))
            super().__init__(gpytorch.variational.VariationalStrategy(self, Z, shape, learn_inducing_locations=True))
            self.mean_module = gpytorch.means.ConstantMean()
            matern = gpytorch.kernels.MaternKernel(nu=1.5, ard_num_dims=Z.shape[1])
            self.covar_module = gpytorch.kernels.ScaleKernel(matern)

        def forward(self, x: Any) -> Any:
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    clusters = MiniBatchKMeans(COLUMNS, n_init=1, random_state=0).fit(scale.transform(X))
    machine = Machine(torch.tensor(clusters.cluster_centers_)).double()
    noise = gpytorch.likelihoods.GaussianLikelihood().double()
    bound = gpytorch.mlls.VariationalELBO(noise, machine, len(inputs))
    optimizer = torch.optim.Adam([*machine.parameters(), *noise.parameters()], lr=0.01)
    rate = torch.optim.lr_scheduler.MultiStepLR(optimizer, [EPOCHS * 4 // 5], gamma=0.1)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(inputs)).split(BATCH):
            optimizer.zero_grad()
            (-bound(machine(inputs[rows]), targets[rows])).backward()
            optimizer.step()
        rate.step()
    machine.eval()
    noise.eval()
    with torch.no_grad():
        found = noise(machine(torch.tensor(scale.transform(Xt))))
    return mean + spread * found.mean.numpy(), spread * found.stddev.numpy()


def nystroem_ridge(d: int) -> Any:
    """Return ridge regression on Nystroem's columns, gamma and penalty by three folds."""
    machine = make_pipeline(StandardScaler(), Nystroem(n_components=COLUMNS, random_state=0), Ridge())
    grid = {"nystroem__gamma": [g / d for g in GAMMAS], "ridge__alpha": [1e-3, 1e-2, 1e-1]}
    return GridSearchCV(machine, grid, cv=3, scoring="neg_mean_squared_error")


def svr() -> Any:
    """Return a support vector regression of standardised targets with a grid search by three folds."""
    grid = {"svr__C": [1.0, 10.0], "svr__gamma": [0.05, 0.1, 0.2], "svr__epsilon": [0.05]}
    return GridSearchCV(make_pipeline(StandardScaler(), SVR(cache_size=1000)), grid, cv=3)


def searched_svr(X: np.ndarray, y: np.ndarray, Xt: np.ndarray) -> Predicted:
    """Return the predictions of the grid-searched support vector regression."""
    mean, spread = y.mean(), y.std()
    return mean + spread * svr().fit(X, (y - mean) / spread).predict(Xt), None


def tree_regressors() -> Iterator[tuple[str, Any]]:
    """Yield names and boosted trees."""
    yield "histogram boosting", HistGradientBoostingRegressor(random_state=0)
    if installed("lightgbm"):
        from lightgbm import LGBMRegressor

        yield "LightGBM", LGBMRegressor(n_jobs=1, verbose=-1)
    if installed("catboost"):
        from catboost import CatBoostRegressor

        yield "CatBoost", CatBoostRegressor(thread_count=1, verbose=0, random_seed=0, allow_writing_files=False)


def regressors(n: int, d: int) -> Iterator[tuple[str, Regressor, Any]]:
    """Yield name, function, and the model whose residuals are its error bars (None: it has its own, or none)."""
    for name, model in [*tree_regressors(), ("Nystroem, ridge", nystroem_ridge(d))]:
        yield name, pointwise(model), model if "Nystroem" not in name else None
    if n < MOST_ROWS and d < MOST_COORDINATES:
        yield "SVR, grid search", searched_svr, None
    if installed("gpboost"):
        yield "GPBoost, Vecchia, 20 neighbours", gpboost(gp_approx="vecchia", num_neighbors=20), None
        yield "GPBoost, FITC, 500 inputs", gpboost(gp_approx="fitc", num_ind_points=500), None
        full = gpboost(gp_approx="full_scale_vecchia", num_ind_points=200, num_neighbors=30)
        yield "GPBoost, full scale, 200 inputs, 30 neighbours", full, None
    if installed("gpytorch"):
        yield "GPyTorch, SVGP, 500 inputs", svgp, None


# -- classification ------------------------------------------------------------------------------------------------
def classifiers(n: int, d: int) -> Iterator[tuple[str, Any]]:
    """Yield names and classifiers."""
    yield "histogram boosting", HistGradientBoostingClassifier(random_state=0)
    if installed("lightgbm"):
        from lightgbm import LGBMClassifier

        yield "LightGBM", LGBMClassifier(n_jobs=1, verbose=-1)
    if installed("catboost"):
        from catboost import CatBoostClassifier

        yield "CatBoost", CatBoostClassifier(thread_count=1, verbose=0, random_seed=0, allow_writing_files=False)
    columns = Nystroem(n_components=COLUMNS, random_state=0)
    machine = make_pipeline(StandardScaler(), columns, LogisticRegression(max_iter=1000))
    grid = {"nystroem__gamma": [g / d for g in GAMMAS], "logisticregression__C": [1.0, 10.0, 100.0]}
    yield "Nystroem, logistic regression", GridSearchCV(machine, grid, cv=3, scoring="neg_log_loss")
    if n < MOST_ROWS:
        platt = CalibratedClassifierCV(SVC(cache_size=1000), ensemble=False)  # what SVC(probability=True) was
        yield "SVC, Platt", make_pipeline(StandardScaler(), platt)


__all__ = ["Regressor", "classifiers", "regressors", "residual_deviation"]
