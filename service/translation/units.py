"""The signs of units that a translation keeps behind a number."""

from __future__ import annotations

import regex

LONG_UNITS = (
    r"km/h|m/s|[kcdmµn]m|[kmµ]g|[kMGT]i?B|[kMG]Wh?|[kMG]?Hz|kV|mAh?|[mcdµ][lL]|dB|[hkM]Pa"
    r"|ms|px|rpm|k?cal|kJ|min|°[CF]|mp[hg]|mmHg|(?:fl[ ])?oz|[kMG]bit/s|[kMG]?bps"
    r"|bpm|fps|pp[mb]|[dp]pi|psi|mol|atm"
)
UNITS = regex.compile(rf"{LONG_UNITS}|[mgltshxALVWFC]")
"""Those that are kept behind a number."""
