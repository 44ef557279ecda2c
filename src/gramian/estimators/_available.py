"""Methods that exist under a condition, with an error that names the cause where it does not hold."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, update_wrapper, wraps
from types import MethodType
from typing import Any, cast

from sklearn.exceptions import NotFittedError

__all__ = ["available_if"]


class ConditionalMethod:
    """Descriptor of a method that exists only if `check(estimator)` raises no AttributeError."""

    def __init__(self, check: Callable[[Any], Any], method: Callable[..., Any]) -> None:
        self.check, self.method = check, method
        update_wrapper(cast(Any, self), method)

    def __get__(self, estimator: Any, owner: Any = None) -> Callable[..., Any]:
        if estimator is not None:
            self.raise_cause(estimator)
            return MethodType(self.method, estimator)

        @wraps(self.method)
        def unbound(estimator: Any, *args: Any, **kwargs: Any) -> Any:
            self.raise_cause(estimator)
            return self.method(estimator, *args, **kwargs)

        return unbound

    def raise_cause(self, estimator: Any) -> None:
        """Raise an AttributeError that names the estimator, the method and the cause, unless the check passes.

        A NotFittedError of the check, which is an AttributeError too, is raised as it is.
        """
        try:
            self.check(estimator)
        except NotFittedError:
            raise
        except AttributeError as cause:
            name, method = type(estimator).__name__, self.method.__name__
            raise AttributeError(f"this {name} has no attribute {method!r}: {cause}") from None


def available_if(check: Callable[[Any], Any]) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator for a method that exists only if `check(estimator)` raises no AttributeError.

    scikit-learn's decorator of this name hides the message of the check; this one shows it.
    """
    return partial(ConditionalMethod, check)
