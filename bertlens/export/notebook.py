"""A saved notebook as a page that shows views without a network: `jupyter nbconvert --to bertlens notebook.ipynb`.

nbconvert shows a widget or its still picture, and the widget needs scripts from other addresses. Here the picture
stands in the widget's place until the view is drawn.
"""

from __future__ import annotations

from nbconvert.exporters import HTMLExporter

_TEMPLATE = """{%- extends 'lab/index.html.j2' -%}
{%- block data_widget_view scoped -%}
<div class="jupyter-widgets jp-OutputArea-output bertlens-output {{ extra_class }}">
<style>.bertlens-output:has(.bertlens) > img { display: none }</style>
{% if 'image/png' in output.data -%}
<img alt="the view as a still picture" src="data:image/png;base64,{{ output.data['image/png'] | e }}">
{% endif -%}
<script type="application/vnd.jupyter.widget-view+json">
{{ output.data['application/vnd.jupyter.widget-view+json'] | json_dumps | escape_html_script }}
</script>
</div>
{%- endblock data_widget_view -%}
"""


class PicturesExporter(HTMLExporter):
    """nbconvert's HTML, with the still picture of each view where the view will be."""

    export_from_notebook = ""  # not in menus beside the exporter that it is made of

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        self.raw_template = _TEMPLATE
