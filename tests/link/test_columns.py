"""Values are cleaned and coded whatever their script; kinds of columns are judged by records."""

import datetime as dt
import unicodedata

import numpy as np
import pandas as pd
import pytest

from mercer.link import kinds
from mercer.link.columns import Symbols, cells_of, class_of, cleaned, coded, sampled
from mercer.link.kinds import ColumnWords, as_date, judged, number_in, numbers_in
from mercer.tables import read_columns

#: the same names, written in two ways
SAME = [
    ("Zoë MÜLLER", "zoe  muller"), ("Straße", "STRASSE"), ("Łódź", "lodz"), ("Øst", "ost"),
    ("ＡＢＣ", "abc"), ("n°5", "N°5"), ("٣٤", "34"), ("१२", "12"), ("ﬁsh", "fish"),
    ("Ἀθῆναι", "αθηναι"), ("שָׁלוֹם", "שלום"), ("مُحَمَّد", "محمد"), ("О’Коннор", "о'коннор"),
    ("a\u200bb", "ab"), ("tab\tand\nline", "tab and line"), ("İstanbul", "istanbul"),
]  # fmt: skip
APART = [("がっこう", "かっこう"), ("हिन्दी", "हिनदी"), ("王小明", "王小民"), ("김철수", "김철호")]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_ways_of_writing_do_not_count(one, other):
    assert cleaned([one]) == cleaned([other])
    assert cleaned([one, "x", other]) == [cleaned([one])[0], "x", cleaned([other])[0]]


@pytest.mark.parametrize(("one", "other"), APART)
def test_other_letters_count(one, other):
    assert cleaned([one]) != cleaned([other])


def test_missing_texts():
    assert cleaned(["n/a", "NULL", "-", "?", " ", "Nil", "na"]) == ["", "", "", "", "", "nil", ""]
    assert cleaned([]) == []
    assert cleaned(["", ""]) == ["", ""]


def test_every_symbol_is_cleaned_alone_as_among_others():
    rng = np.random.default_rng(0)
    codes = np.unique(np.append(rng.integers(1, 0x11000, 3000), rng.integers(0, 0x110000, 1000)))
    texts = [f"a{chr(code)}b" for code in codes.tolist()]
    together = cleaned(texts)
    assert len(together) == len(texts)
    assert together[::97] == [cleaned([text])[0] for text in texts[::97]]
    assert all(cleaned([text]) == [text] for text in together[::97])  # what is clean stays
    Symbols.of(together).bits()


def test_symbols():
    assert [class_of(c) for c in "a9 -é京カก한"] == [1, 2, 0, 0, 1, 3, 1, 1, 1]
    assert class_of(unicodedata.lookup("DEVANAGARI VOWEL SIGN I")) == 1
    narrow, wide = Symbols.of(["é", ""]), Symbols.of(["é", "", "京"])
    assert (narrow.symbols.dtype, wide.symbols.dtype) == (np.uint8, np.uint32)
    assert narrow.hashes().tolist() == wide.hashes()[:2].tolist()


def test_cells_of_all_forms_of_columns():
    frame = pd.DataFrame({
        "text": ["Anna", None, " anna", "n/a"], "float": [1.0, np.nan, 1.0, 2.5],
        "day": [dt.datetime(2020, 1, 2), None, dt.datetime(2020, 1, 2), dt.datetime(1999, 1, 1)],
        "items": [["b", "a"], None, ["b", "a"], ["c"]], "mixed": ["1", 1, 1.0, None],
        "flag": [True, False, True, True],
    })  # fmt: skip
    columns = read_columns(frame)
    texts = {name: cells_of(values) for name, values in columns.items()}
    assert texts["text"].texts == ["anna"]
    assert texts["text"].codes.tolist() == [0, -1, 0, -1]
    assert texts["text"].written == ["Anna"]
    assert (texts["float"].texts, texts["float"].codes.tolist()) == (["1", "2.5"], [0, -1, 0, 1])
    assert texts["day"].texts == ["1999-01-01", "2020-01-02"]
    assert texts["day"].codes.tolist() == [1, -1, 1, 0]
    assert texts["items"].texts == ["b a", "c"]
    assert texts["mixed"].texts == ["1"]
    assert len(texts["flag"].texts) == 2


def test_codes_do_not_depend_on_the_order_of_records():
    rng = np.random.default_rng(1)
    values = np.array([f"v{i}" for i in rng.integers(0, 30, 200)], object)
    order = rng.permutation(200)
    one = coded("a", kinds.NAME, [cells_of(values)], [""])
    two = coded("a", kinds.NAME, [cells_of(values[order])], [""])
    assert one.values == two.values
    assert (one.codes[order] == two.codes).all()
    assert (np.diff(one.hashes.astype(float)) > 0).all()
    both = coded("a", kinds.NAME, [cells_of(values[:50]), cells_of(values[50:])], ["", ""])
    assert both.first == 50
    assert (both.codes == one.codes).all()
    assert both.counts.tolist() == np.bincount(both.codes).tolist()


def test_values_are_found_in_another_column():
    a = coded("a", kinds.NAME, [cells_of(np.array(["x", "y", "z"], object))], [""])
    b = coded("b", kinds.NAME, [cells_of(np.array(["z", "w", "x"], object))], [""])
    place = a.places_in(b)
    for value, code in zip(a.values, place):
        assert (b.values[code] == value) if code >= 0 else value == "y"


@pytest.mark.parametrize(
    ("text", "order", "date"),
    [
        ("1984-03-21", "", "19840321"), ("1984/3/1", "", "19840301"), ("19840321", "", "19840321"),
        ("21.3.1984", "dmy", "19840321"), ("3/21/1984", "mdy", "19840321"),
        ("21 mar 1984", "dmy", "19840321"), ("1984-19-39", "", "19841939"),
        ("1984-03-21 12:30", "", "19840321"), ("1984-03-21t12:30:00", "", "19840321"),
        ("3021-01-01", "", None), ("1984", "", None), ("198403", "", None), ("anna", "", None),
        ("12345678", "", None), ("", "", None),
    ],
)  # fmt: skip
def test_dates(text, order, date):
    assert as_date(text, order) == date


def test_numbers():
    assert [number_in(text) for text in ("$12.50", "12,5 €", "1,234", "usd 3", "x", "3e2")] == [
        12.5, 12.5, 1234, 3, None, 300,
    ]  # fmt: skip
    assert numbers_in("ab-12 64gb 012") == "12 64"


def judge(values):
    cells = cells_of(np.array(values, object))
    texts, weights = sampled([cells])
    return judged(texts, weights, len(texts), int((cells.codes >= 0).sum())).name


def test_kinds():
    rng = np.random.default_rng(0)
    number = rng.integers(10**6, 10**7, 300).astype(str).tolist()
    assert judge(number) == "digits"
    assert judge([f"{x[:3]}-{x[3:]}" for x in number]) == "digits"
    assert judge([f"AB{x[:4]}" for x in number]) == "digits"
    assert judge([f"{int(x[:2])}.{x[2:4]}" for x in number]) == "number"
    assert judge([str(int(x) % 400) for x in number]) == "number"
    assert judge([f"${x[:3]}" for x in number]) == "number"
    assert judge([f"19{x[:2]}-0{int(x[2]) % 9 + 1}-1{x[3]}" for x in number]) == "date"
    assert judge(["f", "m"] * 150) == "category"
    assert judge([f"name{'abcdefgh'[int(x) % 8]}{'xyzw'[int(x[1]) % 4]}" for x in number]) == "name"
    assert judge([f"main street {x}" for x in number]) == "text"
    assert judge(["王小明", "李雷", "韩梅梅", "张伟", "刘洋", "陈静"] * 3) == "text"
    # one date in six is damaged, and all of these are different
    dates = [f"19{i % 80 + 10}0{i % 9 + 1}1{i % 9}" for i in range(500)]
    damaged = [f"{d[:7]}" if i % 6 == 0 else d for i, d in enumerate(dates)]
    assert judge(damaged) == "date"


def test_letters_before_codes_are_those_of_a_country():
    rng = np.random.default_rng(0)
    plain = rng.integers(10**8, 10**9, 60).astype(str).tolist()
    written = [f"GB {text[:3]} {text[3:7]} {text[7:]}" for text in plain]
    assert judge(plain + written) == "digits"
    sides = [cells_of(np.array(texts, object)) for texts in (plain, written)]
    hints = [kinds.DIGITS.hint(cells.texts) for cells in sides]
    assert hints == ["", "gb"]
    both = coded("tax", kinds.DIGITS, sides, hints)
    assert (both.codes[:60] == both.codes[60:]).all()
    assert kinds.DIGITS.hint(["a1", "b2", "c3"]) == ""
    assert kinds.DIGITS.read(["gb", "gb1"], "gb") == ["gb", "1"]


@pytest.mark.full
def test_a_sample_tells_the_shares_of_all_records():
    often = ["12345678"] * 9000
    rare = [f"text {i}" for i in range(6000)]
    for values in (often + rare, rare[::-1] + often):
        texts, weights = sampled([cells_of(np.array(values, object))])
        assert len(texts) <= 4000
        assert weights.sum() == pytest.approx(15_000)
        assert weights[texts.index("12345678")] == 9000
    assert judge(often + rare) == judge(rare[::-1] + often)


def test_words_of_values():
    words = ColumnWords.of(Symbols.of(["b a b", "", "a 12"]))
    spelled = [bytes(words.symbols.symbols[a:b]).decode() for a, b in
               zip(words.symbols.starts[:-1], words.symbols.starts[1:])]  # fmt: skip
    of = [[spelled[w] for w in words.words[a:b]] for a, b in
          zip(words.starts[:-1], words.starts[1:])]  # fmt: skip
    assert [sorted(some) for some in of] == [["a", "b"], [], ["12", "a"]]
    assert sorted(zip(spelled, words.numbers.tolist())) == [("12", 1), ("a", 0), ("b", 0)]
    assert words.counts(np.array([3, 1, 2]))[spelled.index("a")] == 5


def test_shares_keep_hashes_alone():
    hashes = np.array([5, 9, 5, 7], np.uint64)
    shares = kinds.Shares.of(hashes, np.array([1, 1, 1, 3]), 6)
    assert shares.hashes.tolist() == [5, 7]
    np.testing.assert_allclose(
        shares.at(np.array([7, 5, 9, 1], np.uint64)), [2 / 6, 1 / 6, 1 / 6, 1 / 6]
    )
    empty = kinds.Shares.of(np.empty(0, np.uint64), np.empty(0), 0)
    assert empty.at(hashes).tolist() == [1.0] * 4
