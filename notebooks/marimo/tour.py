# A tour of bertlens in marimo. `marimo edit tour.py` opens it, `python tour.py` runs it without a browser.
import marimo

__generated_with = "0.20.0"
app = marimo.App(width="medium", app_title="A tour of bertlens")


@app.cell
def _():
    import bertlens as bl
    import marimo as mo

    return bl, mo


@app.cell
def _(mo):
    mo.md("""
    # A tour of bertlens

    **You will see** a sentence with a hidden word, what a model puts there, and one of its 72 attention heads.
    You turn that head down, and the answer changes while you watch. All numbers are what the model itself
    produced.

    ## 1. What does the model answer?

    The embedded model is a small trained BERT that needs no download. It reads a sentence in which one word is
    masked.

    **Guess:** who was tired, the cat or the milk? And if the last word were *sour*? Then look:

    1. **Drag the slider** to the left: this one head falls silent. The bars show what the model would guess
       then.
    2. **Touch a word.** The arcs show what it looks at in this head; the thicker, the more.
    3. **Change *tired* to *sour***: double-click the word, write, press Enter. What does it guess now?
    4. **Click another head** of the six below.
    """)


@app.cell
def _(bl, mo):
    guesses = bl.Lens.embedded(mlm=True)
    hidden = guesses.trace("The cat did not drink the milk because the [MASK] was tired.")
    first = mo.ui.anywidget(hidden.explore())
    first
    return first, guesses


@app.cell
def _(mo):
    mo.md("""
    ## 2. From the view to Python

    What you select above is a value here: marimo runs the cell below anew with each head that you choose, and
    with each sentence.
    """)


@app.cell
def _(first, guesses, mo):
    shown = first.value
    run = guesses.trace(shown["text"])
    weights = run.attention(shown["layer"])[shown["head"]]  # a table of tokens × tokens, [query, key]
    largest = [
        (token, run.tokens[int(row.argmax())], float(row.max())) for token, row in zip(run.tokens, weights, strict=True)
    ]
    mo.vstack(
        [
            mo.md(f"**L{shown['layer']}·H{shown['head']}**: the largest weight of each token."),
            mo.ui.table(
                [{"token": token, "looks most at": key, "weight": round(weight, 3)} for token, key, weight in largest],
                selection=None,
            ),
        ]
    )


@app.cell
def _(mo):
    mo.md("""
    ## 3. Why are two texts alike?

    The other embedded model makes vectors of texts. Their similarity is split exactly, by pairs of words.
    """)


@app.cell
def _(bl, mo):
    encoder = bl.Lens.embedded()
    pair = bl.similarity(encoder, "The old key to the cabinet is on the table.", "Where is the key?")
    mo.ui.anywidget(pair.explore())
    return (encoder,)


@app.cell
def _(mo):
    mo.md("""
    ## 4. What this shows, and what it does not

    - A weight says where a head looks, the norm how much it passes on. Neither says how much the answer depends
      on it: that is what the slider is for.
    - One sentence is an anecdote. Before you say what a head does, count over many: `bl.survey`.
    - Your own model: `own_model.py` beside this file.
    """)


if __name__ == "__main__":
    app.run()
