"""The catalogue of data sets that `load` knows, one entry each.

The licences and OpenML ids come from those who collected the files; they were not looked up at the source.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from gramian.datasets.dataset import Dataset
from gramian.datasets.planted import make_three_groups
from gramian.datasets.prepare import (
    arcsinh_transform,
    drop_constant_columns,
    drop_missing_and_duplicates,
    log_transform,
    sample_classes,
)

__all__ = ["CATALOGUE", "Entry", "find_entry"]

UCI = "UCI Machine Learning Repository"
CC_BY, UNSTATED = "CC BY 4.0", "none stated"


class OpenML(NamedTuple):
    """The name and the number of a data set at OpenML."""

    name: str
    number: int


@dataclass(frozen=True)
class Entry:
    """The description of a data set before it is loaded.

    Attributes
    ----------
    size : tuple of int
        The numbers of samples, features and classes as published, before any preparation. A file must match them.
    origin, licence : str
    remark : str
        Further information for users.
    prepare : callable, optional
        A function that takes and returns a Dataset, not applied if raw=True. `prepared` describes it in words.
    make : callable, optional
        A function that returns the Dataset, if it needs no file.
    file : str
        The file's name without .npz, if it differs from the name of the set.
    openml : OpenML, optional
        Where the set is at OpenML.
    labels : tuple of str
        OpenML's labels in the order of the file's integers, if they are not sorted.
    test_counts : tuple of int
        The number of samples of each class in the standard test set, which is the last rows. Used for downloads from
        OpenML, which have no mask.
    span : tuple of float, optional
        The smallest and the largest value, if those at OpenML may differ.
    missing : bool
        True if values may be NaN. Otherwise NaN is an error.
    """

    size: tuple[int, int, int]
    origin: str
    licence: str
    remark: str = ""
    prepared: str = ""
    prepare: Callable[[Dataset], Dataset] | None = None
    make: Callable[[], Dataset] | None = None
    file: str = ""
    openml: OpenML | None = None
    labels: tuple[str, ...] = ()
    test_counts: tuple[int, ...] = ()
    span: tuple[float, float] | None = None
    missing: bool = False

    @property
    def description(self) -> str:
        """Return the size, origin, licence and preparation in a few sentences."""
        n, d, classes = self.size
        parts = [f"{n} x {d} in {classes} classes. {self.origin}. Licence: {self.licence}.", self.remark]
        parts.append(f"Prepared: {self.prepared}" if self.prepared else "")
        parts.append(f"OpenML: {self.openml.name}, id {self.openml.number}." if self.openml else "")
        return " ".join(part for part in parts if part)


def scikit_learn_loader(loader: Callable[[], Any]) -> Callable[[], Dataset]:
    """Return a function that loads a data set of scikit-learn as a Dataset."""

    def load() -> Dataset:
        bunch = loader()
        features, targets = (tuple(str(name) for name in bunch[key]) for key in ("feature_names", "target_names"))
        return Dataset("", bunch.data, bunch.target.astype(np.int64), None, features, targets)

    return load


def keel_entry(n: int, d: int, classes: int, name: str) -> Entry:
    """Return the entry of a set of n samples and d features of the KEEL repository."""
    return Entry(
        size=(n, d, classes),
        origin=f"KEEL repository, `{name}`",
        licence=UNSTATED,
        remark="Nominal features are integer codes. The rows are in the order of KEEL.",
    )


PENDIGITS = Entry(
    size=(10992, 16, 10),
    origin=f'{UCI}, "Pen-Based Recognition of Handwritten Digits"; E. Alpaydin, F. Alimoglu, 1998',
    licence=CC_BY,
    remark="Eight pen points (x, y), 0 .. 100. The test set is by other writers.",
    openml=OpenML("pendigits", 32),
    test_counts=(363, 364, 364, 336, 364, 335, 336, 364, 336, 336),
)

CATALOGUE: dict[str, Entry] = {
    # The paper's table, in its order.
    "gyrb": Entry(
        size=(52, 52, 3),
        origin="Synthetic, drawn with a fixed seed; see `gramian.datasets.gyrb` for other seeds",
        licence="that of gramian",
        remark="A stand-in: the GyrB kernel of Tsuda, Rätsch and Warmuth (2005) is not available. X is the kernel.",
        make=make_three_groups,
    ),
    "digits_389": replace(
        PENDIGITS,
        remark="The paper's Digits. Which 300 samples it used is not known; these are drawn with a fixed seed.",
        prepared="100 samples of each of the digits 3, 8 and 9: 300 x 16 in 3 classes.",
        prepare=partial(sample_classes, classes=(3, 8, 9), per_class=100, random_state=0),
        file="pendigits",
    ),
    "wine": Entry(
        size=(178, 13, 3),
        origin=f'{UCI}, "Wine"; donor S. Aeberhard, 1991; from scikit-learn',
        licence=CC_BY,
        remark="The paper's table says 13 classes; there are 3.",
        make=scikit_learn_loader(load_wine),
    ),
    "ionosphere": Entry(
        size=(351, 34, 2),
        origin=f'{UCI}, "Ionosphere"; donor V. Sigillito, 1989',
        licence=CC_BY,
        prepared="the constant column is dropped, which leaves the paper's 33 features.",
        prepare=drop_constant_columns,
        openml=OpenML("ionosphere", 59),
    ),
    "balance_scale": Entry(
        size=(625, 4, 3),
        origin=f'{UCI}, "Balance Scale"; donor T. Hume, 1994, after R. S. Siegler',
        licence=CC_BY,
        openml=OpenML("balance-scale", 11),
        labels=("L", "B", "R"),
    ),
    "iris": Entry(
        size=(150, 4, 3),
        origin=f'{UCI}, "Iris"; R. A. Fisher, 1936; from scikit-learn',
        licence=CC_BY,
        make=scikit_learn_loader(load_iris),
    ),
    "soybean": Entry(
        size=(683, 35, 19),
        origin=f'{UCI}, "Soybean (Large)"; R. S. Michalski, R. L. Chilausky; donors M. Tan, J. Schlimmer, 1988',
        licence=CC_BY,
        remark="Category codes, several of them without an order; NaN is missing (raw=True only).",
        prepared="rows with missing values and repeated rows are dropped: 532 x 35 in 15 classes (the paper: 17).",
        prepare=drop_missing_and_duplicates,
        openml=OpenML("soybean", 42),
        missing=True,
        labels=(
            *("diaporthe-stem-canker", "charcoal-rot", "rhizoctonia-root-rot", "phytophthora-rot", "brown-stem-rot"),
            *("powdery-mildew", "downy-mildew", "brown-spot", "bacterial-blight", "bacterial-pustule"),
            *("purple-seed-stain", "anthracnose", "phyllosticta-leaf-spot", "alternarialeaf-spot"),
            *("frog-eye-leaf-spot", "diaporthe-pod-&-stem-blight", "cyst-nematode", "2-4-d-injury", "herbicide-injury"),
        ),
    ),
    "usps": Entry(
        size=(9298, 256, 10),
        origin="US Postal Service zip code digits, Y. LeCun et al., as in The Elements of Statistical Learning",
        licence=UNSTATED,
        remark="16 x 16 grey values in [-1, 1], by rows. The paper uses the 2007 test samples.",
        openml=OpenML("USPS", 41082),
        span=(-1.0, 1.0),
        test_counts=(359, 264, 198, 166, 200, 160, 170, 147, 166, 177),
    ),
    "isolet": Entry(
        size=(7797, 617, 26),
        origin=f'{UCI}, "ISOLET"; R. Cole, M. Fanty; donor T. Dietterich, 1994',
        licence=CC_BY,
        remark="The test set is the fifth of five groups of speakers.",
        openml=OpenML("isolet", 300),
        test_counts=(*[60] * 12, 59, *[60] * 13),
    ),
    "arcene": Entry(
        size=(200, 10000, 2),
        origin=f'{UCI}, "Arcene"; I. Guyon, NIPS 2003 feature selection challenge',
        licence=CC_BY,
        remark="Mass spectra; with gordon_lung it stands in for the paper's Prostate. 3000 of the features are random "
        "probes and 39 constant. The test set is the challenge's validation part.",
    ),
    "gordon_lung": Entry(
        size=(181, 12533, 2),
        origin="Gordon et al., Cancer Research 62 (2002): lung cancer microarray",
        licence=UNSTATED,
        remark="With arcene it stands in for the paper's Prostate, whose dimension it comes near to.",
        prepared="arcsinh(x/50), since intensities have heavy tails and a fifth of them are negative.",
        prepare=partial(arcsinh_transform, unit=50.0),
    ),
    # Others.
    "breast_cancer": Entry(
        size=(569, 30, 2),
        origin=f'{UCI}, "Breast Cancer Wisconsin (Diagnostic)"; W. H. Wolberg et al., 1995; from scikit-learn',
        licence=CC_BY,
        make=scikit_learn_loader(load_breast_cancer),
    ),
    "colon": Entry(
        size=(62, 2000, 2),
        origin="Alon et al., PNAS 96 (1999): colon tissue microarray",
        licence=UNSTATED,
        prepared="the natural logarithm of the intensities.",
        prepare=log_transform,
    ),
    "digits": Entry(
        size=(1797, 64, 10),
        origin=f"{UCI}: the test samples of optdigits; from scikit-learn",
        licence=CC_BY,
        remark="Not the paper's Digits: that is digits_389.",
        make=scikit_learn_loader(load_digits),
    ),
    "mnist": Entry(
        size=(70000, 784, 10),
        origin="MNIST; Y. LeCun, C. Cortes, C. J. C. Burges",
        licence="CC BY-SA 3.0",
        remark="28 x 28 grey values 0 .. 255. dtype=np.float32 halves its 440 MB.",
        openml=OpenML("mnist_784", 554),
        test_counts=(980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009),
    ),
    "newsgroups20": Entry(
        size=(18846, 130108, 20),
        origin="20 Newsgroups, bydate; K. Lang, J. Rennie",
        licence=UNSTATED,
        remark="Sparse token counts; scikit-learn's fetch_20newsgroups_vectorized has nearly the same.",
    ),
    "optdigits": Entry(
        size=(5620, 64, 10),
        origin=f'{UCI}, "Optical Recognition of Handwritten Digits"; E. Alpaydin, C. Kaynak, 1998',
        licence=CC_BY,
        openml=OpenML("optdigits", 28),
        test_counts=(178, 182, 177, 183, 181, 182, 181, 179, 174, 180),
    ),
    "pendigits": PENDIGITS,
    "yaleb": Entry(
        size=(2414, 1024, 38),
        origin="Extended Yale Face Database B; A. Georghiades, P. Belhumeur, D. Kriegman; cropped by D. Cai",
        licence="research use",
        remark="32 x 32 grey values 0 .. 255, flattened by columns, sorted by person.",
    ),
    # Sets of the tables of Suárez, García and Herrera (2021), in the version of KEEL.
    "sonar": keel_entry(208, 60, 2, "sonar"),
    "movement_libras": keel_entry(360, 90, 15, "movement_libras"),
    "winequality_red": keel_entry(1599, 11, 6, "winequality-red"),
    "page_blocks": keel_entry(5472, 10, 5, "page-blocks"),
    "phoneme": keel_entry(5404, 5, 2, "phoneme"),
    "pima": keel_entry(768, 8, 2, "pima"),
    "newthyroid": keel_entry(215, 5, 3, "newthyroid"),
    "monk_2": keel_entry(432, 6, 2, "monk-2"),
    "spambase": keel_entry(4597, 57, 2, "spambase"),
}

#: Sets of the paper that are not available, and what to use instead.
UNOBTAINABLE = {
    "prostate": "the Prostate spectra of Petricoin et al. (2002) are not available. Use 'arcene' (mass spectra) or "
    "'gordon_lung' (a similar number of features) instead."
}


def find_entry(name: str) -> tuple[str, Entry]:
    """Return a set's name in the catalogue and its entry; spaces, hyphens and capitals do not matter."""
    key = str(name).strip().lower().replace(" ", "_").replace("-", "_")
    if key in CATALOGUE:
        return key, CATALOGUE[key]
    if key in UNOBTAINABLE:
        raise ValueError(f"name={name!r}: {UNOBTAINABLE[key]}")
    close = get_close_matches(key, CATALOGUE, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise ValueError(f"name={name!r} is unknown.{hint} Choose one of {', '.join(sorted(CATALOGUE))}.")
