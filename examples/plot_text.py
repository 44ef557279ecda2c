"""
Texts: distances from tf-idf
============================

Texts become sparse vectors of word weights, and a distance is learned from their topics. The vectors stay sparse. The
texts here are generated: topics share most of their words, so that plain distance is misled by what is frequent.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from gramian import MetricLearner

rng = np.random.default_rng(0)
common = [f"word{k}" for k in range(400)]
topical = {topic: [f"{topic}{k}" for k in range(40)] for topic in ("sport", "law", "music", "garden")}
frequency = 1 / np.arange(1, 401)
texts, topics = [], []
for topic, words in topical.items():
    for _ in range(150):
        text = [*rng.choice(common, 60, p=frequency / frequency.sum()), *rng.choice(words, 5)]
        texts.append(" ".join(text))
        topics.append(topic)

X, y = TfidfVectorizer(sublinear_tf=True).fit_transform(texts), np.array(topics)
train, test, labels, truth = train_test_split(X, y, stratify=y, random_state=0)
print(f"{X.shape[0]} texts, {X.shape[1]} words, {X.nnz / X.shape[0]:.0f} different words a text")

# %%
# Three numbers per text, in place of hundreds of word weights.

learner = MetricLearner(3, constraints="triplets", random_state=0).fit(train, labels)
plain = KNeighborsClassifier(5).fit(train, labels).score(test, truth)
learned = KNeighborsClassifier(5).fit(learner.transform(train), labels).score(learner.transform(test), truth)
print(f"5-NN by tf-idf: {plain:.3f}; by the learned distance: {learned:.3f}")

figure, axes = plt.subplots(figsize=(7, 5), layout="constrained")
Z = learner.transform(test)
for topic in topical:
    axes.scatter(*Z[truth == topic, :2].T, s=14, label=topic)
axes.set_title(f"test texts; 5-NN finds {learned:.0%} of the topics, by plain tf-idf {plain:.0%}")
axes.set(xticks=[], yticks=[])
axes.legend()
plt.show()
