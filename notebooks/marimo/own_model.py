# Your own model in marimo. `marimo edit own_model.py` opens it, `python own_model.py` runs it on the embedded one.
import marimo

__generated_with = "0.20.0"
app = marimo.App(width="medium", app_title="Your own model in bertlens")


@app.cell
def _():
    import bertlens as bl
    import marimo as mo

    return bl, mo


@app.cell
def _(mo):
    mo.md("""
    # Your own model

    Write the folder of a model that transformers has saved, or its name on the hub, and a sentence. `embedded`
    is the encoder that comes with bertlens, `embedded-mlm` the one that guesses a word. The model stays exactly
    as it is.
    """)


@app.cell
def _(mo):
    model = mo.ui.text(value="embedded-mlm", label="model", full_width=True)
    text = mo.ui.text(value="The keys to the cabinet are on the [MASK].", label="text", full_width=True)
    mo.vstack([model, text])
    return model, text


@app.cell
def _(bl, mo, model):
    named = {"embedded": bl.Lens.embedded, "embedded-mlm": lambda: bl.Lens.embedded(mlm=True)}
    try:
        lens = named[model.value]() if model.value in named else bl.Lens.from_pretrained(model.value)
    except (bl.BertLensError, OSError, ValueError) as error:
        mo.stop(True, mo.callout(mo.md(f"{error}"), kind="warn"))
    lens
    return (lens,)


@app.cell
def _(bl, lens, mo, text):
    try:
        trace = lens.trace(text.value)
    except bl.InputError as error:
        mo.stop(True, mo.callout(mo.md(f"{error}"), kind="warn"))
    view = mo.ui.anywidget(trace.explore())
    view
    return trace, view


@app.cell
def _(mo, trace):
    mo.md(f"""
    What the tokenizer made of it: {len(trace.tokens)} tokens, {" ".join(f"`{token}`" for token in trace.tokens)}
    """)


@app.cell
def _(mo):
    mo.md("""
    For a paper: `trace.explore().to_html("page.html")` is one file with every head of the text,
    `trace.attention(layer)` the numbers.
    """)


if __name__ == "__main__":
    app.run()
