"""Fitted models of every kind, for tests of files: small, and each made once."""

import warnings
from functools import cache

import numpy as np
import scipy.sparse
from sklearn.compose import make_column_transformer
from sklearn.feature_selection import SelectKBest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from gramian import KernelLearner, MetricLearner, MetricLearnerCV, PSDRegressor, SStressMDS, SubspaceTracker
from gramian.baselines import ITML, LEGO, LMNN, POLA, KernelSpectralRegression, LogDetKL, MaximumVarianceUnfolding
from gramian.execution import Threads
from gramian.geometries import Polar, Scaled
from gramian.losses import Huber
from gramian.solvers import Armijo, ConjugateGradient, GradientDescent, Online, TrustRegion

RNG = np.random.default_rng(0)
N, D = 40, 4
X = RNG.standard_normal((N, D))
Y = np.arange(N) % 3
X[:, 0] += 2 * Y
TARGET = np.sum(X[:, :2] ** 2, axis=1)
PAIRS = np.array([(i, (i + k) % N) for i in range(N) for k in (1, 3)])
SIGNS = np.where(Y[PAIRS[:, 0]] == Y[PAIRS[:, 1]], 1, -1)
TRIPLETS = np.array([(i, (i + 3) % N, (i + 1) % N) for i in range(N - 3)])
SPARSE = scipy.sparse.csr_matrix(np.where(np.abs(X) < 0.5, 0, X))
WORDS = np.array(["ant", "bee", "cat"])


def squared_distances():
    return np.sum((X[:, None] - X) ** 2, axis=2)


def kept_stream():
    """A stream whose samples are of one class, and are kept until others come."""
    return MetricLearner(2, solver="online", random_state=0).partial_fit(
        X[:5], np.zeros(5, int), sample_weight=np.arange(1.0, 6)
    )


def kept_sparse_stream():
    return MetricLearner(2, solver="online").partial_fit(SPARSE[:5], ["only"] * 5)


def kept_pairs():
    """A stream whose pairs are all near, and are kept until far ones come."""
    return MetricLearner(2, random_state=0).partial_fit_pairs(X, [[0, 1], [2, 3]], [1, 1], sample_weight=[1.0, 2.0])


def calibrated():
    return MetricLearner(2, random_state=0).fit_pairs(X, PAIRS, SIGNS).calibrate_threshold(X, PAIRS, SIGNS)


MODELS = {
    "regressor, not fitted": lambda: PSDRegressor(2),
    "regressor": lambda: PSDRegressor(2, random_state=0).fit(X, TARGET),
    "regressor, float32": lambda: PSDRegressor(2, random_state=0).fit(X.astype(np.float32), TARGET),
    "regressor, auto rank": lambda: PSDRegressor("auto", random_state=0).fit(X, TARGET),
    "regressor, parts": lambda: PSDRegressor(
        2, geometry=Scaled(np.eye(D)), solver=TrustRegion(), loss=Huber(0.5), n_jobs=Threads(2), random_state=0
    ).fit(X, TARGET),
    "regressor, array start": lambda: PSDRegressor(2, init=X[:2].T.copy(), solver="gd", max_iter=500).fit(X, TARGET),
    "regressor, stream": lambda: PSDRegressor(2, solver="online", random_state=0).partial_fit(X, TARGET),
    "regressor, online": lambda: PSDRegressor(
        2, solver=Online(batch_size=4), geometry="polar", random_state=np.random.RandomState(3)
    ).fit(X, TARGET),
    "metric, labels": lambda: MetricLearner(2, random_state=0).fit(X, Y),
    "metric, words": lambda: MetricLearner(2, random_state=np.random.default_rng(5)).fit(X, WORDS[Y]),
    "metric, parts": lambda: MetricLearner(
        2, geometry=Polar(weight=0.3), solver=GradientDescent(Armijo()), constraints="triplets", random_state=0
    ).fit(X, Y),
    "metric, pairs": calibrated,
    "metric, triplets": lambda: MetricLearner(2, solver=ConjugateGradient(), random_state=0).fit_triplets(X, TRIPLETS),
    "metric, targets": lambda: MetricLearner(2, random_state=0).fit_targets(X, TARGET),
    "metric, sparse": lambda: MetricLearner(2, constraints="triplets", random_state=0).fit(SPARSE, Y),
    "metric, preprocessor": lambda: MetricLearner(2, preprocessor=X, random_state=0).fit_pairs(PAIRS, y=SIGNS),
    "metric, kept samples": kept_stream,
    "metric, kept sparse samples": kept_sparse_stream,
    "metric, kept pairs": kept_pairs,
    "metric cv": lambda: MetricLearnerCV(cv=2, random_state=0).fit(X, Y),
    "kernel": lambda: KernelLearner(2, kernel="rbf", random_state=0).fit(X, Y),
    "kernel, sparse": lambda: KernelLearner(2, random_state=0).fit(SPARSE, Y),
    "kernel, pairs": lambda: KernelLearner(2, kernel="poly", random_state=0).fit_pairs(
        X, PAIRS, np.ones(len(PAIRS)), -SIGNS
    ),
    "mds": lambda: SStressMDS(2, metric="euclidean", random_state=0).fit(X),
    "mds, precomputed": lambda: SStressMDS(2).fit(np.sqrt(squared_distances())),
    "subspace": lambda: SubspaceTracker(2, random_state=0).fit(X),
    "subspace, stream": lambda: SubspaceTracker(2, random_state=np.random.RandomState(1)).partial_fit(X),
    "itml": lambda: ITML(random_state=0).fit(X, Y),
    "lego": lambda: LEGO(random_state=0).fit(X, Y),
    "lmnn": lambda: LMNN(2, random_state=0).fit(X, Y),
    "pola": lambda: POLA(random_state=0).fit(X, Y),
    "logdet": lambda: LogDetKL(rank=2, random_state=0).fit(X, Y),
    "spectral regression": lambda: KernelSpectralRegression(2).fit(X, Y),
    "unfolding": lambda: MaximumVarianceUnfolding(2).fit(X),
    "pipeline": lambda: make_pipeline(StandardScaler(), MetricLearner(2, random_state=0)).fit(X, Y),
    "pipeline, neighbours": lambda: make_pipeline(
        FunctionTransformer(np.cbrt), SelectKBest(k=3), MetricLearner(2, random_state=0), KNeighborsClassifier()
    ).fit(X, WORDS[Y]),
    "pipeline, columns": lambda: make_pipeline(
        make_column_transformer((OneHotEncoder(), [0]), (StandardScaler(), [1, 2]), remainder="passthrough"),
        MetricLearner(2, random_state=0),
    ).fit(np.column_stack([Y % 2, X]), Y),
}


@cache
def fitted(name):
    """The model of a name; warnings of short fits are not the subject here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MODELS[name]()
