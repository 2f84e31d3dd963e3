"""Pairs of sentences that no notebook has, written or drawn: what the notebooks say must hold for them too."""

from __future__ import annotations

import random

STORIES = [
    ("The boy dropped his hat in the water.", "A fisherman pulled it out with a long stick."),
    ("We missed the last bus home.", "It took us two hours to walk through the fields."),
    ("Anna opened the letter in the kitchen.", "Her hands shook, and she had to sit down."),
    ("The old dog slept by the fire.", "Nobody wanted to wake him for the walk."),
    ("My brother bought a broken radio.", "After a week of work it played music again."),
    ("The lights went out at eight.", "We found some candles and told stories until midnight."),
    ("A stranger knocked at the door.", "He asked for bread, and he gave us a coin."),
    ("The cook tasted the soup.", "It needed salt, so he sent the girl to the shop."),
    ("They planted an apple tree last year.", "This morning they saw its first white flowers."),
    ("The baker was angry with his son.", "The boy had burned all of the bread again."),
    ("I forgot my umbrella at school.", "Of course it rained all the way home."),
    ("The queen refused to wear the crown.", "She said that it was too heavy for her."),
    ("Two girls built a boat from wood.", "It sank before they reached the other side."),
    ("The teacher lost her glasses.", "A pupil found them under the piano in the hall."),
    ("He painted the door bright red.", "His neighbours laughed, but the postman liked it."),
    ("The cat brought a mouse into the house.", "My aunt jumped on a chair and screamed."),
    ("She wrote her name in the snow.", "By noon the sun had taken it away."),
    ("The farmer counted his sheep at night.", "One was missing, so he took his lamp and left."),
    ("Our train stopped in the tunnel.", "A child began to sing, and soon everybody sang."),
    ("The sailor came home after ten years.", "His mother did not know his face at first."),
    ("He carried the piano up the stairs.", "On the third floor he had to rest for an hour."),
    ("The market was full of people.", "An old woman sold honey, eggs and yellow flowers."),
    ("The princess hid the key in a shoe.", "Nobody ever looked there, and she forgot it too."),
    ("We camped near the lake in August.", "At night we heard wolves, and nobody slept well."),
]

FACTS = [
    ("Iron rusts when it meets water and air.", "Paint keeps both away, which is why bridges are painted."),
    ("The heart has four chambers.", "Valves between them make sure that blood flows in one direction only."),
    ("Sound travels faster in water than in air.", "Whales use this to talk over hundreds of kilometres."),
    ("The parliament has two houses.", "A law must pass both of them before the president can sign it."),
    ("Sugar cane is a tall grass.", "Its juice is pressed, boiled and dried until crystals form."),
    ("The first printed books were expensive.", "Within fifty years, however, prices had fallen by two thirds."),
    ("Mars has two small moons.", "Both were discovered in 1877 by an American astronomer."),
    ("Banks lend more money than they own.", "If all customers want their savings at once, the bank fails."),
    ("The desert is cold at night.", "Dry air holds little heat, and no clouds keep it near the ground."),
    ("Antibiotics do not help against viruses.", "Doctors still prescribe them often, which makes bacteria resistant."),
    ("Roman roads were built in layers.", "Large stones lay at the bottom, and gravel and flat slabs above."),
    ("Most computers store numbers in binary.", "Each digit is a switch that is either on or off."),
    ("The company was founded in 1921.", "It produced bicycles at first, and later turned to small cars."),
    ("Bats are not blind.", "In the dark they listen for the echo of their own high calls."),
    ("The dam supplies power to three cities.", "Its construction forced many families to leave their villages."),
    ("Glass is made from sand, soda and lime.", "Small amounts of metal give it a green or blue colour."),
    ("Gold is soft and very heavy.", "For jewellery it is mixed with silver or copper to make it harder."),
    ("The earthquake lasted forty seconds.", "Engineers found later that wooden houses had suffered least."),
    ("Salmon return to the river of their birth.", "They find it by smell after years in the open ocean."),
    ("Latin was the language of science.", "Newton wrote his main work in it, and Linnaeus named plants in it."),
    ("The treaty ended the war in 1648.", "It was negotiated in two towns because the parties would not meet."),
    ("Coffee was first grown in Ethiopia.", "Traders carried the beans across the sea to Yemen."),
    ("A violin has four strings.", "They are tuned in fifths, and the lowest one sounds like a deep voice."),
    ("Concrete gets harder for many years.", "Steel bars inside it take the forces that would tear it apart."),
]


def drawn(seed: int, n: int = 24) -> list[tuple[str, str]]:
    """n different pairs of a few templates."""
    draw, found = random.Random(seed), {}
    while len(found) < n:
        one, other = draw.sample(["miller", "nurse", "soldier", "sailor", "doctor", "girl", "farmer", "clerk"], 2)
        thing, second = draw.sample(["hat", "lamp", "boat", "letter", "cart", "clock", "ring", "coat", "chair"], 2)
        place = draw.choice(["harbour", "market", "station", "forest", "kitchen", "garden", "church"])
        like = draw.choice(["old", "small", "broken", "heavy", "new", "red", "cheap"])
        first = [
            f"The {one} lost a {like} {thing} near the {place}.",
            f"A {like} {thing} stood in the {place}.",
            f"Every {draw.choice(['morning', 'evening', 'Sunday'])} the {one} walked to the {place}.",
            f"The {one} sold the {thing} and bought a {like} {second}.",
        ]
        then = [
            f"The {other}, who was tired, did not want to look for it.",
            f"Later the {other} brought a {second} and told us about it.",
            f"Nobody but the {other} knew what the {like} {second} was for.",
            f"It was cold, and the {other} had to go home without the {second}.",
        ]
        found[draw.choice(first), draw.choice(then)] = None
    return list(found)


SETS = {"stories": STORIES, "facts": FACTS}
DRAWN = {f"drawn {seed}": drawn(seed) for seed in range(3)}
