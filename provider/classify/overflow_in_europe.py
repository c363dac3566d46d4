"""The German, French and Spanish sentences that report an overflow.

No public report of such a server was found: the words are guessed. They count only where the
English sentences count: for an unknown server, and with a status that an overflow can have.
"""

from __future__ import annotations

import re

_SUBJECT = re.compile(
    r"\b(?:Kontext\w*|Eingabe\w*|Prompt\w*|Nachrichten|Unterhaltung|Tokens?"
    r"|contexte|entrée|conversation|jetons|contexto|entrada|conversación)\b",
    re.IGNORECASE,
)
_TOO_LONG = re.compile(
    r"\b(?:überschreit\w*|überschritten|übersteig\w*|zu (?:lang|groß|viele)"
    r"|dépass\w*|trop long\w*|excede\w*|supera\w*|demasiado larg\w*)\b",
    re.IGNORECASE,
)
_NOT_LENGTH = re.compile(
    r"\b(?:pro (?:Minute|Sekunde|Stunde|Tag|Monat)|Raten\w*|Anfragen|Kontingent\w*|Guthaben"
    r"|Budget\w*|Konto\w*|Abo\w*|täglich\w*|monatlich\w*|Zeit\w*|Datei\w*|Bild\w*|Ausgabe\w*"
    r"|Werkzeug\w*|par (?:minute|jour|mois)|requêtes|solde|crédits?|délai|fichier|image|sortie"
    r"|por (?:minuto|día|mes)|solicitudes|saldo|créditos?|cuota|tiempo|archivo|imagen|salida"
    r"|max_\w+)\b",
    re.IGNORECASE,
)


def is_overflow_in_europe(text: str) -> bool:
    """True if *text* means in one of these languages that the prompt is too long.

    >>> is_overflow_in_europe("Die Eingabe ist zu lang.")
    True
    >>> is_overflow_in_europe("Zu viele Tokens pro Minute.")
    False
    """
    if _TOO_LONG.search(text) is None or _NOT_LENGTH.search(text) is not None:
        return False
    return _SUBJECT.search(text) is not None
