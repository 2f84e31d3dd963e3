"""The texts that the notebooks count over, where the reader gives none: written for them, a set for each purpose.

A pair is two sentences of one text. STORY_PAIRS ends with the first texts of CORPUS_PAIRS; else no text is in two sets.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

CORPUS_PAIRS: list[tuple[str, str]] = [
    ("The ferry left at dawn, half empty.", "By noon the wind had turned, and the captain, an old man, went back."),
    ("Copper bends easily.", "Bronze, which is copper and tin, is harder, melts sooner, and fills a mould well."),
    ("Our teacher drew a circle on the board.", "Then she drew the same circle again, with her eyes closed."),
    ("The old bakery has closed.", "In its place there is a shop for telephones, and the street smells of nothing."),
    ("Bees see colours that we do not.", "Many flowers, plain to us, have lines that lead a bee to the nectar."),
    ("He counted the money twice.", "It was too much, so he counted it again, and it was still too much."),
    ("The bridge was built in 1890.", "Trains crossed it for sixty years, until a flood took two of its pillars."),
    ("Snow lay on the roofs.", "The children had waited for the snow all week, and now the school was open again."),
    ("A good knife is sharp, not strong.", "A blunt knife slips, and the hand that holds it slips with it."),
    ("The violin was made in Cremona.", "Its wood grew slowly, in cold summers, and is therefore dense."),
    ("She learned to read at four.", "At five she read the newspaper to her grandfather, who had lost his glasses."),
    ("The experiment failed.", "When they looked for the reason, they found a better experiment, and that one worked."),
    ("Rice is planted in water.", "The water keeps weeds away, and it keeps the young plants warm at night."),
    ("The clock in the tower is wrong.", "Everybody in the town knows by how much, so nobody minds."),
    ("A map leaves things out.", "A map that left nothing out would be as large as the land, and of no use."),
    ("They walked along the river, talking.", "When the talk ended, the path ended too, at a gate with no wall."),
]

SHORT_PAIRS: list[tuple[str, str]] = [
    ("The cat sat on the mat.", "It was tired after a long day."),
    ("She opened the window.", "Cold air filled the small room."),
    ("The train was late again.", "Many people waited on the platform."),
    ("He poured a cup of tea.", "The old kettle was still hot."),
    ("The children played in the park.", "Their parents talked on a bench."),
    ("A storm came in from the sea.", "The boats stayed in the harbour."),
    ("My sister plays the piano.", "She practises every morning."),
    ("The shop closed at noon.", "We bought bread somewhere else."),
    ("The doctor read the report.", "The results were better than before."),
    ("Snow fell during the night.", "The roads were white and quiet."),
    ("The team won the last game.", "Their fans sang in the streets."),
    ("He lost his keys yesterday.", "A neighbour found them near the gate."),
    ("The river runs through the town.", "An old bridge crosses it."),
    ("They painted the kitchen yellow.", "It looks bigger than before."),
    ("The dog barked at the postman.", "He dropped the letters and ran."),
    ("The film was far too long.", "Half of the audience fell asleep."),
    ("She planted beans in spring.", "By summer they reached the roof."),
    ("The price of oil went up.", "Airlines raised their fares."),
    ("The teacher asked a question.", "Nobody knew the answer."),
    ("We walked along the beach.", "The sand was warm and soft."),
]

STORY_PAIRS: list[tuple[str, str]] = [
    ("The cat sat on the mat, tired and warm.", "Outside, a dog barked at the moon until the neighbours woke up."),
    (
        "Rain fell for three days.",
        "The river, already high, broke its banks on Sunday, and the lower town was flooded.",
    ),
    ("She studied chemistry in Vienna, then in Zurich.", "Her thesis on enzymes was published two years later."),
    ("The orchestra tuned its instruments.", "When the conductor raised her baton, the hall fell silent at once."),
    ("Bread needs flour, water, salt and yeast.", "Knead the dough, let it rest, and bake it in a hot oven."),
    ("The satellite measures the height of the sea.", "Its radar sends short pulses, and a clock times their return."),
    ("He lost the first set, but won the match.", "The crowd, which had been quiet, cheered for several minutes."),
    ("Parliament passed the law in spring.", "Critics argued that it would weaken the courts, and appealed."),
    ("The glacier has shrunk since 1950.", "Hikers now find wood, bones and tools that the ice had kept."),
    ("My grandmother mended clocks.", "On her bench lay springs, gears, and a loupe that we were not to touch."),
    ("The vaccine was tested in four countries.", "Its effect was strong at first, and faded slowly over a year."),
    ("An old lighthouse stands on the cape.", "Its keeper wrote down every ship, every storm, and every whale."),
    *CORPUS_PAIRS[:12],
]

OTHER_PAIRS: list[tuple[str, str]] = [
    ("The bus turned the corner.", "A woman ran after it and waved."),
    ("He read the letter twice.", "Then he burned it in the stove."),
    ("The garden needs rain.", "The roses have lost their leaves."),
    ("Our neighbour keeps bees.", "Every autumn she brings us honey."),
    ("The judge left the room.", "Nobody dared to speak for a minute."),
    ("They sold the old house.", "A young couple lives there now."),
    ("The soup was too hot.", "I burned my tongue on it."),
    ("A bird built a nest.", "It used hair from our dog."),
    ("The moon rose late.", "We could see the path at last."),
    ("My watch has stopped.", "It was a gift from my uncle."),
    ("The pupils wrote a test.", "Half of them had learned nothing."),
    ("She fixed the radio herself.", "The parts came from a broken clock."),
]

ALIKE_PAIRS: list[tuple[str, str]] = [
    ("The cook burned the rice.", "Dinner was spoiled because nobody watched the pot."),
    ("A ship left the port at dawn.", "The vessel sailed before sunrise."),
    ("My grandmother knits socks.", "An old lady makes warm things of wool."),
    ("The exam was very hard.", "Few students passed the test."),
    ("He plays the trumpet badly.", "The neighbours complain about the noise."),
    ("The lake froze in January.", "People skated from one shore to the other."),
    ("The car would not start.", "We had to take the tram to work."),
    ("The mayor opened the museum.", "Hundreds came to see the old paintings."),
    ("Our hens lay brown eggs.", "The fox took two of them last night."),
    ("The pilot landed in heavy fog.", "All passengers arrived safely."),
    ("She learned Spanish in a year.", "He never managed to speak a second language."),
    ("The bread is fresh.", "The baker opens his shop at six."),
]

MIDDLE_PAIRS: list[tuple[str, str]] = [
    ("The gardener cut the hedge on Monday.", "On Tuesday his neighbour complained about the noise."),
    ("A heavy storm blew the roof off the barn.", "The horses stood in the rain until the evening."),
    ("The judge read the letter twice.", "Then she folded it and put it into her bag."),
    ("Most birds sing early in the morning.", "Owls are awake when the others sleep."),
    ("The tailor sewed a coat for the mayor.", "It was too short, and the mayor refused to pay."),
    ("Salt water is heavier than fresh water.", "That is why a ship lies lower in a river."),
    ("The little girl hid behind the curtain.", "Her shoes could be seen, but nobody said so."),
    ("Our uncle sells old clocks in the city.", "None of them shows the same time as another."),
    ("The pilot saw the mountain too late.", "He pulled the plane up with both hands."),
    ("A young doctor came to the village.", "People walked for hours to see her."),
    ("The thieves left the museum through a window.", "They had taken a painting of no value."),
    ("Wheat and barley were grown in the valley.", "After the flood the farmers changed to rice."),
    ("The choir practised the song every Friday.", "By spring they knew it without the music."),
    ("He lost his ticket at the station.", "The guard believed him and let him travel."),
    ("The new law protects the forests in the north.", "Hunters and loggers have protested against it."),
    ("An engine turns heat into motion.", "A good part of the heat is lost on the way."),
    ("The widow rented the upper rooms to students.", "They brought her flowers on her birthday."),
    ("The soldiers crossed the bridge at night.", "Behind them the bridge was set on fire."),
    ("She keeps bees on the roof of her house.", "The honey tastes of the lime trees in the street."),
    ("The committee met in a cold hall.", "Everyone kept their coats on and spoke quickly."),
]

LINKED_PAIRS: list[tuple[str, str]] = [
    ("The fire brigade came at noon.", "Smoke had filled the whole school."),
    ("My aunt sells flowers.", "Her shop smells of roses."),
    ("The judge read the sentence.", "The thief must go to prison."),
    ("We missed the ferry.", "The next boat leaves tomorrow."),
    ("The violin was out of tune.", "Nobody wanted to hear the concert."),
    ("Bees like lavender.", "The insects fly from bloom to bloom."),
    ("He broke his leg.", "The doctor put it in plaster."),
    ("The river rose overnight.", "Water stood in every cellar."),
    ("She bakes on Sundays.", "The smell of cake fills the stairs."),
    ("The goalkeeper was ill.", "They lost the match by five goals."),
    ("Prices went up again.", "Many can no longer pay their rent."),
    ("The cow had twins.", "Two calves stood in the straw."),
    ("A storm cut the power.", "We sat by candlelight."),
    ("The library closes at six.", "You can return the books tomorrow."),
    ("Their engine failed.", "The plane landed on a field."),
    ("The king had no children.", "His nephew took the crown."),
    ("Snow fell all week.", "The road over the pass is shut."),
    ("The choir sang in Latin.", "Few people understood the words."),
    ("My tooth hurts.", "The dentist has time on Monday."),
    ("The wall is wet.", "A pipe must be leaking."),
    ("The referee blew his whistle.", "The players left the pitch."),
    ("Grandfather was a miner.", "He spent forty years under the ground."),
    ("The soup needs salt.", "It tastes of nothing."),
    ("The telescope found a comet.", "Astronomers gave it a number."),
]


def data_folder() -> Path:
    """The folder of test data that BERTLENS_DATA names; one that is not there, if it names none."""
    return Path(os.environ.get("BERTLENS_DATA") or "nowhere")


def wikipedia(n: int) -> list[tuple[str, str]]:
    """The first n pairs of neighbouring passages of Wikipedia in the test data; [] without it."""
    file = data_folder() / "text" / "wiki_segments.jsonl.gz"
    if not file.is_file():
        return []
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [(text["a"], text["b"]) for text in map(json.loads, islice(lines, n))]


def joined(pairs: Sequence[tuple[str, str]], n: int = 5) -> list[tuple[str, str]]:
    """Long texts: the words of n pairs in a row, as a pair; what is left over is left out."""
    groups = [[" ".join(pair) for pair in pairs[at : at + n]] for at in range(0, len(pairs) - n + 1, n)]
    return [(" ".join(group[:3]), " ".join(group[3:])) for group in groups]
