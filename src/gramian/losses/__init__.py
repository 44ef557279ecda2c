"""Losses: the cost of a prediction, given its target and its sense.

`sense` says what is asked of a prediction: 0 equal to the target, -1 at most, +1 at least. It is an array (m,), so
the three may be mixed freely.

To add a loss, write one file with a class that has `degree` and `__call__`, and one line here. A loss outside the
package works as well; `gramian.contracts.check_loss` says whether it is right.
"""

from gramian.losses.hinge import Hinge
from gramian.losses.huber import Huber
from gramian.losses.linear import Linear
from gramian.losses.logistic import Logistic
from gramian.losses.loss import Loss
from gramian.losses.squared import Squared

__all__ = ["LOSSES", "Hinge", "Huber", "Linear", "Logistic", "Loss", "Squared"]

LOSSES: dict[str, type[Loss]] = {
    "squared": Squared,
    "huber": Huber,
    "hinge": Hinge,
    "logistic": Logistic,
    "linear": Linear,
}
