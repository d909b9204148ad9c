"""A service that predicts with a model file: MODEL=model.mercer uvicorn serve:app"""

import os

import polars as pl
from fastapi import FastAPI, HTTPException

import mercer

MOST_ROWS = 10_000
model = mercer.load(os.environ["MODEL"])  # once, before the first request
app = FastAPI(title="Predictions")


@app.get("/health")
def health() -> dict:
    return {"mercer": mercer.__version__, "columns": list(getattr(model, "feature_names_in_", []))}


@app.post("/predict")
def predict(rows: list[dict[str, bool | int | float | str | None]]) -> dict:
    if not 0 < len(rows) <= MOST_ROWS:
        raise HTTPException(413 if rows else 422, f"{len(rows)} rows: send 1 to {MOST_ROWS:,}.")
    try:
        table = pl.DataFrame(rows, infer_schema_length=None)
        answer = {"prediction": model.predict(table).tolist()}
        if hasattr(model, "predict_proba"):
            chances = model.predict_proba(table).round(6).tolist()
            answer["probability"] = [dict(zip(model.classes_.tolist(), each)) for each in chances]
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise HTTPException(422, str(error)) from None
    return answer
