"""
Differences of colours: quadruplets
===================================

Colours on a screen are three numbers: red, green and blue. People do not see equal steps of these as equal. From
answers like "these two colours are more alike than those two" a distance is learned that orders differences as people
see them.
"""

import matplotlib.pyplot as plt
import numpy as np

from gramian import MetricLearner


def perceived(colours):
    """Return CIELAB coordinates of sRGB colours in [0, 1]: their distance is what stands for people's answers here."""
    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    relative = linear @ to_xyz.T / np.array([0.9505, 1.0, 1.089])
    root = np.where(relative > 0.008856, np.cbrt(relative), 7.787 * relative + 16 / 116)
    x, y, z = root.T
    return np.column_stack([116 * y - 16, 500 * (x - y), 200 * (y - z)])


rng = np.random.default_rng(0)
colours = rng.random((600, 3))
seen = perceived(colours)


def ask(samples, count, rng):
    """Return quadruplets (a, b, c, e) such that a and b are seen as more alike than c and e."""
    asked = np.array([rng.choice(samples, 4, replace=False) for _ in range(count)])
    first, second = (np.linalg.norm(seen[asked[:, k]] - seen[asked[:, k + 1]], axis=1) for k in (0, 2))
    return np.where((first < second)[:, None], asked, asked[:, [2, 3, 0, 1]])


quadruplets, new = ask(np.arange(400), 2000, rng), ask(np.arange(400, 600), 2000, rng)
learner = MetricLearner(random_state=0).fit_quadruplets(colours, quadruplets)
first, second = (np.linalg.norm(colours[new[:, k]] - colours[new[:, k + 1]], axis=1) for k in (0, 2))
plain, learned = np.mean(first < second), learner.score(colours, new)
print(f"new quadruplets in the right order: {plain:.1%} by red, green and blue; {learned:.1%} learned")

# %%
# Left and middle: each dot is a pair of new colours; in a perfect distance all dots lie on one rising curve. Right:
# what was learned. Steps of green count most. The negative entry of green and blue says that a step of both at once is
# seen less than the same step of either alone.

new_pairs = new[:, :2]
truth = np.linalg.norm(seen[new_pairs[:, 0]] - seen[new_pairs[:, 1]], axis=1)
distances = {
    f"red, green, blue: {plain:.0%} in order": np.linalg.norm(
        colours[new_pairs[:, 0]] - colours[new_pairs[:, 1]], axis=1
    ),
    f"learned: {learned:.0%} in order": learner.pair_distance(colours, new_pairs),
}
figure, panels = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
for axes, (name, values) in zip(panels, distances.items(), strict=False):
    axes.scatter(truth, values, s=4, alpha=0.4)
    axes.set(title=name, xlabel="difference as it is seen (CIELAB)", ylabel="distance")
W = learner.get_mahalanobis_matrix()
image = panels[2].imshow(W / np.trace(W), cmap="RdBu", vmin=-0.6, vmax=0.6)
for (i, j), value in np.ndenumerate(W / np.trace(W)):
    panels[2].text(j, i, f"{value:.2f}", ha="center", va="center")
panels[2].set(title="the learned matrix, trace 1")
panels[2].set_xticks(range(3), ["red", "green", "blue"])
panels[2].set_yticks(range(3), ["red", "green", "blue"])
plt.show()
