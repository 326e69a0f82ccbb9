"""What the parser sees: names in other letters, with particles, and in chat without capitals."""

import pytest
from extracting import read_user

from memstream.extractors.text.language import detect
from memstream.extractors.text.respell import common_names, respell
from memstream.schemas.extraction import EntityName


def read(*texts: str) -> tuple[set[str], set[str]]:
    """The names of a session of a user as "text : type", and its facts as "subject | predicate | object"."""
    found = read_user(*texts)
    return (
        {f"{m.text} : {m.entity.type.value}" for each in found for m in each.mentions},
        {
            f"{a.subject.name} | {a.predicate} | {a.object.name if isinstance(a.object, EntityName) else a.object}"
            for each in found for a in each.assertions
        },
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("Дмитрий Иванов works at Yandex.", "Dmitrii Ivanov works at Yandex."),
        ("Γιώργος lives in Athens.", "Giorgos lives in Athens."),
        ("Nguyễn Thị Hoa lives in Đà Nẵng.", "Nguyen Thi Hoa lives in Da Nang."),
        ("Maria dos Santos lives in Faro.", "Maria Dos Santos lives in Faro."),
        ("Jan van der Berg called.", "Jan Van Der Berg called."),
        ("the Renault van Ana drove", "the Renault van Ana drove"),
        ("She has ten Swedes", "She has ten Swedes"),
        ("i moved to berlin w/ anna", "I moved to Berlin w/ Anna"),
        ("im priya and i live in pune", "Im Priya and I live in Pune"),
        ("my sister kehinde is here", "my sister Kehinde is here"),
        ("i work from home, in accounting", "I work from home, in accounting"),
        ("mail anna@berlin.example or see /srv/anna", "mail anna@berlin.example or see /srv/anna"),
        ("Anna and berlin", "Anna and berlin"),
        ("Sânmiclăuș is in România", "Sânmiclăuș is in România"),
        ("naïve plain text", "naïve plain text"),
    ],
)
def test_another_spelling(text: str, spelled: str) -> None:
    """Names get Latin letters and capitals; what is no name stays, and so does a message that has capitals."""
    assert respell(text) == spelled


@pytest.mark.parametrize(
    "text",
    [
        "王小明 works at Tencent", "محمد الفاسي works", "प्रिया शर्मा lives", "ﷺ and ß and İ", "ẞ İSTANBUL", "ŉ ǰ İ i̇",
        "😀 дмитрий 👨‍👩‍👧",
        "ა" * 50, "一二三四五六七八九十一二三", "", "i", "\u0345Α\u0301", "ΐ ΰ", "İ work at i̇stanbul",
    ],
)  # fmt: skip
def test_the_length_stays(text: str) -> None:
    """The spelling has a letter for each letter, so that every place is the same."""
    assert len(respell(text)) == len(text)
    assert [c.isspace() for c in respell(text)] == [c.isspace() for c in text]


def test_long_foreign_text_is_no_name() -> None:
    """A sentence or a long word in a script without capitals is left as it is."""
    for text in ("see 一二三四五六七八九十一二三 there", "see ა ბ გ დ ე there"):
        assert respell(text) == text


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("Дмитрий Иванов works at Yandex.", "Дмитрий Иванов | works_at | Yandex"),
        ("Γιώργος Παπαδόπουλος lives in Athens.", "Γιώργος Παπαδόπουλος | lives_in | Athens"),
        ("王小明 works at Tencent.", "王小明 | works_at | Tencent"),
        ("My colleague 田中さくら lives in Osaka.", "田中さくら | lives_in | Osaka"),
        ("محمد الفاسي works at Maroc Telecom.", "محمد الفاسي | works_at | Maroc Telecom"),
        ("प्रिया शर्मा lives in Pune.", "प्रिया शर्मा | lives_in | Pune"),
        ("김민준 lives in Seoul.", "김민준 | lives_in | Seoul"),
        ("Nguyễn Thị Hoa lives in Đà Nẵng.", "Nguyễn Thị Hoa | lives_in | Đà Nẵng"),
        ("Björk Guðmundsdóttir lives in Reykjavík.", "Björk Guðmundsdóttir | lives_in | Reykjavík"),
        ("Ana moved to Москва in 2020.", "Ana | lives_in | Москва"),
        ("Maria dos Santos lives in Faro.", "Maria dos Santos | lives_in | Faro"),
    ],
)
def test_names_of_many_scripts(text: str, fact: str) -> None:
    """A person or a place in an English sentence is read in whatever letters it is written, and kept in these."""
    assert fact in read(text)[1]


def test_a_surname_with_particles_alone() -> None:
    """A surname with its particles means the person whose name ends with it."""
    said = read("Jan van der Berg works at Skagen Data.", "van der Berg lives in Utrecht.")[1]
    assert "Jan van der Berg | lives_in | Utrecht" in said


def test_chat_without_capitals() -> None:
    """Well-known names and unknown words where a name must stand are names, with the casing of the message."""
    names, facts = read("i moved to berlin w/ anna")
    assert {"berlin : Location", "anna : Person"} <= names
    assert "user | lives_in | berlin" in facts
    assert "anna | works_at | google" in read("anna works at google")[1]
    names, facts = read("hi im priya, i live in pune and work at infosys")
    assert {"priya : Person", "pune : Location"} <= names
    assert "user | lives_in | pune" in facts
    names, _ = read("i love the art of may, will they mark my grace in the rose garden")
    assert names == {"i : Person"} or not names


def test_common_names_are_no_words() -> None:
    """What is a word of English too, or a month, is on no list; a name on two lists has no type."""
    assert not {"will", "may", "mark", "jan", "art", "rose", "reading", "cork", "turkey", "google it"} & set(
        common_names()
    )
    assert not common_names()["sofia"]
    assert common_names()["berlin"] == "Location"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Nguyễn Thị Hoa lives in Đà Nẵng.", ("en", "")), ("Γιώργος Παπαδόπουλος lives in Athens.", ("en", "")),
        ("Ο Γιώργος μένει στην Αθήνα.", ("el",)), ("Дмитрий Иванов живёт в Казани.", ("ru",)),
        ("Jan van der Berg woont nu in Utrecht, zegt hij.", ("nl",)), ("van der Berg lives in Utrecht.", ("en", "")),
        ("Ich wohne jetzt in Berlin und arbeite bei Bosch.", ("de",)), ("プリヤさんは大阪に住んでいます", ("ja",)),
    ],
)  # fmt: skip
def test_english_sentences_with_names_of_elsewhere(text: str, language: tuple[str, ...]) -> None:
    """Names of another language or script make no sentence of that language."""
    assert detect(text) in language
