"""
Spam: substrings help against misspelled words
==============================================

A filter that counts words does not know "fr€e" or "w1nner". A string kernel counts substrings, and
many substrings of a changed word are still the same. How much does this help?

The 72 messages were written for this page; half of them are spam. Real mail is more and harder. We
also change the words ourselves, so that we can choose how many letters are replaced.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline

from mercer import SVC, LinearSVC
from mercer.kernels import Spectrum

SPAM = """
You are a winner! Claim your free prize now
Winner! Your number was selected for a cash prize
Congratulations, you have won a luxury holiday
Free ringtones for your phone, reply with TONE
Claim your cash bonus today, call free
Urgent: your account is blocked, confirm your password
Last chance to collect your free voucher
Cheap loans, cash in your account today
You have been selected to win a new phone
Reply YES to claim your exclusive offer
Lose weight fast, free trial offer
Your prize is waiting, call now to collect it
Win cash every week, text WIN to play
Exclusive offer for selected customers: free minutes
Meet singles in your town tonight, free chat
Your parcel is blocked, confirm the payment now
Final notice: claim your reward before midnight
Double your money, guaranteed winner
Free entry to win cup tickets, text now
Confirm your bank password to unblock your account
Guaranteed loan, no questions, cash today
A secret admirer is waiting, call to reveal
Cheap watches, exclusive discount this week
You won! Reply with your bank account to collect
Congratulations, your email won the lottery
Free casino bonus, play and win now
Collect your shopping voucher, limited offer
Selected winner of a luxury car, claim it today
Unlimited videos, first week free, text VIDEO
Your payment failed, confirm your account now
Earn money from home, guaranteed income
Discount pills, no prescription, order now
Limited offer: holiday for two, call to claim
Cash reward waiting for you, reply to collect
Play the lottery for free and win a prize
Special discount for winners, order today
""".strip().splitlines()
HAM = """
Are you free for lunch on Friday?
I will be late, the train is slow
Did you win the match today?
Thanks for the present, the children love it
Can you collect the parcel from the post office?
Please buy bread and milk on your way home
Happy birthday! I will call you tonight
The doctor has time for you on Monday
I left my phone at your house
Where did you park the car?
Dinner is waiting, come home soon
Call me when you are at the station
Sorry, I was in a meeting all morning
Do you want to see a film this week?
Mum says hello and asks about the holiday
The boys are asleep, it was a long day
I have sent you the report, please read it
No school tomorrow because of the snow
My bus leaves now, see you in an hour
Shall we cook something or order pizza?
What is the password of your wireless?
I paid the rent from my account today
The cat is back, she was in the cellar
Good luck with the exam tomorrow!
Could you lend me some money until Monday?
We won three to one, you should have seen it
Bring a warm coat, it is cold up here
The plumber is coming at nine
I cannot find the key, do you have it?
Let us meet at the corner by the bakery
Have you read the book I gave you?
Tell grandma that we arrive on Sunday
The meeting was moved to the afternoon
That was a lovely evening, thank you
I am on the phone, text me instead
Will you be at practice tonight?
""".strip().splitlines()
X = np.array([text.lower() for text in SPAM + HAM])
y = np.repeat(["spam", "ham"], [len(SPAM), len(HAM)])


def disguise(texts, share, seed):
    """Replace a share of the letters for which there is a similar symbol."""
    rng = np.random.default_rng(seed)
    alike = dict(zip("aeioslct", "@€10$|(+"))
    texts = [[alike.get(c, c) if rng.random() < share else c for c in t] for t in texts]
    return np.array(["".join(t) for t in texts])


for share in (0.2, 0.5, 0.8):
    print(f"{share:.0%}:", *disguise(X[:1], share, seed=0))

# %%
# Words and substrings
# --------------------
# Both filters are trained on unchanged messages. Then they classify other messages, in which more
# and more letters of the spam are replaced; the other messages are not changed. At first both
# filters are about equally good. But if many letters are replaced, substrings still help, and words
# do not.
filters = {
    "substrings: Spectrum(4, shortest=1)": SVC(kernel=Spectrum(4, shortest=1).normalised()),
    "words: TF-IDF": make_pipeline(TfidfVectorizer(), LinearSVC()),
}
shares = np.linspace(0, 1, 6)
f1 = np.zeros((len(shares), len(filters)))
for i, share in enumerate(shares):
    for seed in range(3):
        hidden = np.where(y == "spam", disguise(X, share, seed), X)
        folds = list(StratifiedKFold(6, shuffle=True, random_state=seed).split(X, y))
        for j, machine in enumerate(filters.values()):
            said = np.empty_like(y)
            for train, test in folds:
                said[test] = machine.fit(X[train], y[train]).predict(hidden[test])
            f1[i, j] += f1_score(y, said, pos_label="spam") / 3

fig, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
for name, line, colour, mark in zip(filters, f1.T, ["#0072b2", "#e69f00"], "so"):
    ax.plot(shares, line, color=colour, marker=mark, markeredgecolor="white", label=name)
ax.set(ylim=(-0.03, 1), xlabel="letters of the spam replaced, of those that can be replaced")
ax.set_ylabel("F1 of spam, unseen messages")
ax.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
legend = ax.legend(loc="lower left", frameon=False)

# %%
# Which substrings matter?
# ------------------------
# The score of the machine is a sum over substrings. The spectrum kernel between a substring u of k
# symbols and a support vector counts how often u is in it. So the product with the dual
# coefficients is the weight of u.
machine = filters["substrings: Spectrum(4, shortest=1)"].fit(X, y)
support = X[machine.support_]
norms = np.sqrt(np.diagonal(Spectrum(4, shortest=1)(support)))


def weights(substrings, k):
    """What each substring of k symbols adds to the score; above 0 means spam."""
    return Spectrum(k)(substrings, support) @ (machine.dual_coef_[0] / norms)


known = np.unique([t[i : i + 4] for t in X for i in range(len(t) - 3)])
ranked = known[np.argsort(weights(known, 4))]
print("spam:", *map(repr, ranked[:-9:-1].tolist()))
print("ham: ", *map(repr, ranked[:8].tolist()))

# %%
# Now divide the weight of every substring among its symbols, and colour the symbols of a message by
# it. These messages are new, and some of their letters are replaced. Blue is evidence for spam,
# orange is evidence against it.
texts = [
    "w1nner! claim your free pr1ze before friday",
    "cl@im y0ur ca$h bonus, reply t0 collect",
    "y0ur @ccount was se|ected f0r a fr€e loan",
    "are you free tonight? the cash is for mum",
    "i won the prize for my book, call me soon",
]
shade = np.zeros((len(texts), max(map(len, texts))))
for row, text in zip(shade, texts):
    for k in range(1, 5):
        for i, weight in enumerate(weights([text[i : i + k] for i in range(len(text) - k + 1)], k)):
            row[i : i + k] += weight / k
shade /= np.sqrt(np.diagonal(Spectrum(4, shortest=1)(texts)))[:, None]
scores = machine.decision_function(texts)
assert np.allclose(shade.sum(axis=1) + machine.intercept_, scores)

fig, ax = plt.subplots(figsize=(9, 2.6), layout="constrained")
colours = LinearSegmentedColormap.from_list("ham to spam", ["#e69f00", "#ffffff", "#0072b2"])
top = 1.6 * np.abs(shade).max()
ax.imshow(shade, cmap=colours, vmin=-top, vmax=top, aspect="auto")
for i, text in enumerate(texts):
    for j, symbol in enumerate(text):
        ax.text(j, i, symbol, ha="center", va="center", family="monospace", color="#1b1f24")
ax.hlines(np.arange(len(texts) - 1) + 0.5, -0.5, shade.shape[1] - 0.5, color="white", lw=6)
ax.set_yticks(range(len(texts)), [f"{'spam' if s > 0 else 'ham'} {s:+.2f}" for s in scores])
ax.set_xticks([])
ax.tick_params(length=0)
ax.spines[:].set_visible(False)
