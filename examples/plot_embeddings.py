"""
Embeddings, adapted to your own judgements
==========================================

A pretrained network turns sentences into some hundred numbers, for everybody's purposes. Yours are narrower: a few
pairs that you call alike or not are enough to bend the distance towards them.
"""

# %%
# The vectors here are generated, as those of sentences that have a subject and a tone: 384 numbers in which the tone is
# louder than the subject. We care about the subject alone. With a real network, ``vectors = model.encode(sentences)``.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA
from sklearn.metrics import roc_auc_score

from gramian import MetricLearner

rng = np.random.default_rng(0)
n, d, subjects, tones = 600, 384, 12, 4
subject, tone = rng.integers(subjects, size=n), rng.integers(tones, size=n)
vectors = 0.6 * rng.standard_normal((subjects, d))[subject] + 2.0 * rng.standard_normal((tones, d))[tone]
vectors += 1.0 * rng.standard_normal((n, d))
vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)

# %%
# A thousand pairs of sentences, each called alike (+1) or not (-1) by its subject. 200 sentences are kept aside.


def draw_pairs(samples, count, rng):
    """Return pairs of samples, half of them of one subject, and their signs."""
    pairs = rng.choice(samples, size=(40 * count, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = subject[pairs[:, 0]] == subject[pairs[:, 1]]
    return np.concatenate([pairs[same][: count // 2], pairs[~same][: count // 2]]), np.repeat([1, -1], count // 2)


pairs, signs = draw_pairs(np.arange(400), 1000, rng)
new_pairs, new_signs = draw_pairs(np.arange(400, 600), 1000, rng)

# %%
# A thousand pairs determine some dozens of directions, not 384. So take the principal components first, and learn a
# distance of full rank in them.

reduced = PCA(40, random_state=0).fit(vectors[:400]).transform(vectors)
learner = MetricLearner(random_state=0).fit_pairs(reduced, pairs, signs)
plain = -np.linalg.norm(vectors[new_pairs[:, 0]] - vectors[new_pairs[:, 1]], axis=1)
areas = {
    "as they come": roc_auc_score(new_signs, plain),
    "adapted": learner.score(reduced, new_pairs, new_signs),
}
print({name: round(float(area), 3) for name, area in areas.items()})
right = np.mean(learner.predict(reduced, new_pairs) == new_signs)
print(f"new pairs judged rightly: {right:.1%}")

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.barh(list(areas), list(areas.values()), color=["lightgrey", "tab:blue"])
axes.set(xlim=(0.5, 1), xlabel="area under the ROC curve of pairs of new sentences")
plt.show()
