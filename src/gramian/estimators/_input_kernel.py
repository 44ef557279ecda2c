"""The kernel K₀ of the samples: computed or precomputed, centred, and decomposed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels
from sklearn.preprocessing import KernelCenterer

from gramian.checks import check_number, check_powers
from gramian.execution import one_blas_thread
from gramian.starts.kernel_pca import DecomposedKernel, eigendecompose
from gramian.types import Matrix, Vector
from gramian.warn import warn_user

__all__ = ["InputKernel"]

# The largest asymmetry, as a share of the largest entry, with which a matrix is accepted as a kernel.
LARGEST_ASYMMETRY = 1e-5
# Fewer samples than this may be symmetric by chance.
LEAST_KERNEL = 5


class InputKernel(NamedTuple):
    """The parameters from which K₀ is computed: kernel, gamma, degree, coef0 and center of an estimator."""

    kernel: str | Callable[..., float]
    gamma: float | None
    degree: float
    coef0: float
    center: bool

    @classmethod
    def from_estimator(cls, estimator: Any) -> Self:
        """Return the kernel with the parameters of an estimator."""
        names = ("kernel", "gamma", "degree", "coef0")
        kernel, gamma, degree, coef0 = (getattr(estimator, name) for name in names)
        return cls(kernel, gamma, degree, coef0, getattr(estimator, "center", True))

    @property
    def precomputed(self) -> bool:
        """True if X is the kernel itself."""
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    @property
    def validation_options(self) -> dict[str, Any]:
        """Arguments for `validate_data`: sparse matrices are accepted unless the kernel is precomputed."""
        return {"accept_sparse": False if self.precomputed else "csr", "dtype": [np.float64, np.float32]}

    def matrix(self, X: Any, Y: Any, origin: Vector | None) -> Matrix:
        """Return the kernel (n, n') of the rows of X and Y, in float64: centring may cancel most digits.

        The origin (d,), unless None, is subtracted from both.
        """
        X = subtract(X, origin)
        if self.precomputed:
            return X
        named_kernel = isinstance(self.kernel, str) and self.kernel in PAIRWISE_KERNEL_FUNCTIONS
        if not (callable(self.kernel) or named_kernel):
            names = ", ".join(repr(name) for name in sorted(PAIRWISE_KERNEL_FUNCTIONS))
            raise ValueError(f"kernel={self.kernel!r} is unknown. Choose 'precomputed', {names}, or a function.")
        # The chi-squared kernel of scikit-learn does not know None.
        gamma = 1 / X.shape[1] if self.gamma is None and self.kernel == "chi2" else self.gamma
        named = {"gamma": gamma, "degree": self.degree, "coef0": self.coef0, "filter_params": True}
        settings = {} if callable(self.kernel) else named
        # Entries that overflow are refused by whoever uses the kernel.
        with np.errstate(over="ignore", invalid="ignore"):
            K = pairwise_kernels(X, subtract(Y, origin), metric=self.kernel, **settings)
        if not np.isfinite(K).all():
            raise ValueError(f"kernel={self.kernel!r} gives values that are not finite. Scale X.")
        return K

    def decompose(self, X: Any, count: int | None = None) -> DecomposedKernel:
        """Return the kernel (n, n) of the samples, with the eigendecomposition of the centred kernel.

        With a count, only the leading eigenvectors of this number are computed.
        """
        self.check_settings()
        if isinstance(self.kernel, str) and not self.precomputed:
            check_powers("X", X, 2)
            warn_if_kernel(X, self.kernel)
        # Centring the kernel removes the mean, but not the rounding errors that a large mean causes.
        shifts = self.center and self.kernel == "linear" and not scipy.sparse.issparse(X)
        origin = X.mean(axis=0, dtype=np.float64) if shifts else None
        with one_blas_thread():
            K = symmetrise(self.matrix(X, X, origin))
            with np.errstate(over="ignore", invalid="ignore"):
                centerer = KernelCenterer().fit(K)
            if not np.isfinite(centerer.K_fit_rows_).all():
                largest = np.abs(K).max()
                raise ValueError(f"the largest entry of the kernel is {largest:.3g}: its sums overflow. Scale X.")
            eps = np.finfo(X.dtype if self.precomputed else np.float64).eps
            rounding = 10 * len(K) * float(eps * np.abs(K).max())
            spectrum = eigendecompose(centerer.transform(K), rounding, count)
        settings = {"n_features": X.shape[1], "centred": bool(self.center), "settings": self}
        return DecomposedKernel(K, origin, centerer, **spectrum._asdict(), rounding=rounding, **settings)

    def check_settings(self) -> None:
        """Raise a ValueError that names the first of gamma, degree and coef0 that is not valid."""
        if self.gamma is not None:
            check_number("gamma", self.gamma, least=0, strict=True, also=(None,))
        check_number("degree", self.degree, least=0, strict=True)
        check_number("coef0", self.coef0, least=-np.inf)

    def set_tags(self, tags: Any) -> Any:
        """Return the scikit-learn tags, set for an estimator with this kernel."""
        tags.input_tags.pairwise = self.precomputed
        tags.input_tags.sparse = not self.precomputed
        return tags


def warn_if_kernel(X: Any, kernel: str) -> None:
    """Warn if samples look like a kernel: square, symmetric, and K_ij² <= K_ii K_jj."""
    if scipy.sparse.issparse(X) or X.shape[0] != X.shape[1] or len(X) < LEAST_KERNEL:
        return
    diagonal = np.diag(X)
    if not (diagonal > 0).all() or X.min() == X.max() or not np.allclose(X, X.T, rtol=LARGEST_ASYMMETRY, atol=0):
        return
    bounds = np.sqrt(diagonal)[:, None] * np.sqrt(diagonal)
    if (np.abs(X) <= (1 + LARGEST_ASYMMETRY) * bounds).all():
        warn_user(
            f"X is symmetric of shape {X.shape}, as a kernel is, but kernel={kernel!r} takes its rows as samples. "
            "Give kernel='precomputed' if X is a kernel."
        )


def subtract(X: Any, origin: Vector | None) -> Any:
    """Return X minus the origin (d,), in float64; a sparse X stays sparse if the origin is None."""
    X = X.astype(np.float64)
    return X if origin is None else (X.toarray() if scipy.sparse.issparse(X) else X) - origin


def symmetrise(K: Matrix) -> Matrix:
    """Return the symmetric part of K (n, n); raise a ValueError if K is not symmetric up to rounding."""
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"the kernel has shape {K.shape}; expected a square matrix (n, n).")
    apart = np.abs(K - K.T)
    if apart.max() > LARGEST_ASYMMETRY * np.abs(K).max():
        i, j = (int(k) for k in np.unravel_index(np.argmax(apart), K.shape))
        raise ValueError(f"the kernel is not symmetric: K[{i}, {j}] = {K[i, j]:.6g}, K[{j}, {i}] = {K[j, i]:.6g}.")
    # Halves first: the sum of the largest numbers would overflow.
    return 0.5 * K + 0.5 * K.T
