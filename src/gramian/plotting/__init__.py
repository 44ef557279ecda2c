"""Pictures of fits, spectra, embeddings, features and neighbours, by matplotlib.

Every function draws into `ax`, or into a new figure if it is None, and returns the axes. Colours differ in lightness,
and markers or lines repeat what they say, so that pictures can be read in grey and by colour-blind readers.
"""

from gramian.plotting.fits import plot_convergence, plot_rank_curve, plot_spectrum
from gramian.plotting.neighbours import plot_neighbours
from gramian.plotting.space import plot_ellipse, plot_embedding, plot_features

__all__ = [
    "plot_convergence",
    "plot_ellipse",
    "plot_embedding",
    "plot_features",
    "plot_neighbours",
    "plot_rank_curve",
    "plot_spectrum",
]
