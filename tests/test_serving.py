"""The service of docs/deployment.rst, docs/serving/serve.py, with good and bad requests."""

import re
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

import mercer
from mercer.datasets import throws

pytest.importorskip("httpx")
testclient = pytest.importorskip("fastapi.testclient")
pl = pytest.importorskip("polars")
SERVING = Path(__file__).parents[1] / "docs" / "serving"
TABLE = pl.DataFrame(throws(120, seed=0)).fill_nan(0.0)
NEW = TABLE.drop("result").head(3)


@pytest.fixture(scope="module")
def model():
    X, y = TABLE.drop("result"), TABLE["result"]
    return mercer.KernelClassifier(trials=1, random_state=0).fit(X, y)


@pytest.fixture
def client(model, serve):
    return serve(model)


@pytest.fixture
def serve(tmp_path, monkeypatch):
    """A function that starts the service of a model."""

    def started(model):
        path = tmp_path / "model.mercer"
        mercer.save(model, path)
        monkeypatch.setenv("MODEL", str(path))
        monkeypatch.syspath_prepend(str(SERVING))
        import serve

        return testclient.TestClient(serve.app)

    yield started
    sys.modules.pop("serve", None)


def test_predictions_are_those_of_the_model(client, model):
    answer = client.post("/predict", json=NEW.to_dicts()).json()
    assert answer["prediction"] == model.predict(NEW).tolist()
    assert answer["probability"] == [
        dict(zip(model.classes_.tolist(), row))
        for row in model.predict_proba(NEW).round(6).tolist()
    ]
    turned = [dict(reversed(row.items())) for row in NEW.to_dicts()]
    assert client.post("/predict", json=turned).json() == answer
    assert client.get("/health").json()["columns"] == NEW.columns


@pytest.mark.parametrize(
    ("rows", "status", "words"),
    [
        ([], 422, "0 rows: send 1 to 10,000"),
        ([{}] * 10_001, 413, "10001 rows"),
        ([{"distance": 5.0}], 422, "are lacking"),
        ({"distance": 5.0}, 422, "valid list"),
        ([[5.0]], 422, "valid dictionary"),
        ([{**NEW.to_dicts()[0], "ball": {"of": "leather"}}], 422, "Input should be"),
    ],
)
def test_a_bad_request_is_answered_by_what_is_wrong(client, rows, status, words):
    answer = client.post("/predict", json=rows)
    assert answer.status_code == status
    assert words in str(answer.json())


def test_a_missing_value_is_predicted(client):
    rows = [{**NEW.to_dicts()[0], "wind": None}]
    assert len(client.post("/predict", json=rows).json()["prediction"]) == 1


def test_a_text_for_a_number_is_missing_only_beside_numbers(client):
    good, bad = NEW.to_dicts()[0], {**NEW.to_dicts()[0], "wind": "abc"}
    answer = client.post("/predict", json=[bad])
    assert answer.status_code == 422
    assert "wind" in answer.json()["detail"]
    beside = client.post("/predict", json=[good, bad])
    missing = client.post("/predict", json=[good, {**good, "wind": None}])
    assert beside.status_code == 200
    assert beside.json() == missing.json()


def test_health_of_a_model_without_names(serve):
    X = TABLE.select("distance", "angle").to_numpy()
    client = serve(mercer.SVC().fit(X, TABLE["result"].to_list()))
    assert client.get("/health").json() == {"mercer": mercer.__version__, "columns": []}


def test_the_container_runs_this_file():
    text = (SERVING / "Dockerfile").read_text()
    assert '"serve:app"' in text
    (copied,) = re.findall(r"^COPY --chmod=644 (.+) \./$", text, re.MULTILINE)
    wheel, *names = copied.split()
    assert fnmatch(f"mercer-{mercer.__version__}-cp313-cp313-linux_x86_64.whl", wheel)
    assert names == ["serve.py", "model.mercer"]
    assert (SERVING / "serve.py").is_file()
    assert "ENV MODEL=model.mercer" in text
    assert 20 < len((SERVING / "serve.py").read_text().splitlines()) < 40
