"""Texts for teaching in eight languages: a word that points back at one of two others, in a sentence of every day.

Each says so in its own words, and none is a translation word by word. Their language is a tag as of HTML's lang.
"""

TEACHING = (
    ("en", "The dog did not cross the street because it was too tired."),
    ("de", "Der Hund ging nicht über die Straße, weil er zu müde war."),
    ("fr", "Le chien n’a pas traversé la rue parce qu’il était trop fatigué."),
    ("tr", "Köpek çok yorgun olduğu için caddeyi geçmedi."),
    ("ru", "Собака не перешла улицу, потому что она очень устала."),
    ("ar", "لم يعبر الكلب الشارع لأنه كان متعبًا جدًا."),
    ("hi", "कुत्ते ने सड़क पार नहीं की क्योंकि वह बहुत थका हुआ था।"),
    ("zh", "那只狗没有过马路，因为它太累了。"),
)
