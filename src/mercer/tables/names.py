"""What the name of a column says of its cells: dates, years, times, identifiers, codes, places.

A name strengthens what the cells show; by itself it only makes `mercer check` ask.
"""

import re

DATE_NAME = re.compile(
    r"(.*[_\W\d])?(?i:date|day|datum|tag|jour|fecha|data|dt|dia|giorno|ymd|yyyymmdd)([_\W\d].*)?"
    r"|.*(?:Date|Day|Datum)"
)
YEAR_NAME = re.compile(
    r"(.*[_\W])?(?i:years?|yr|jahr|ann[eé]e|año|anno|ano|jaar|season|saison)"
    r"([_\W].*|(?<=[a-z])[A-Z].*)?"
)
TIME_NAME = re.compile(
    r"(.*[_\W\d])?(?i:times?|hours?|hhmm|clock|uhrzeit|zeit|heure|hora|ora|tijd|departure|arrival)"
    r"([_\W\d].*)?|.*[a-z](?:Time|Hour)"
)
#: names of identifiers, which may return
IDENTIFIERS = (
    r"(?:[pu]|pat(?:ient)?|subj|subject|user|cust(?:omer)?|client|member|person|case|hh|house(?:hold)?"
    r"|emp(?:loyee)?|unit|geo|item|order|prod(?:uct)?|store|sample|account|trans(?:action)?|session"
    r"|visit|event|student|school|site|town|fam(?:ily)?|animal|plot)?ids?"
)
#: names of numbers that tell rows apart; a column is taken for such only if all are different
IDENTIFIER_NAME = re.compile(
    rf"(.*[_\W])?(?i:{IDENTIFIERS}|id[_ ]?(?:str|num|number|no|code)|uuid|guid|index|idx|key"
    r"|pk|unnamed: \d+|seqn|row[_ .]?(?:names?|num(?:ber)?s?|no|nr|ids?)|rec(?:ord)?s?"
    r"|rec(?:ord)?[_ .]?(?:no|nr|num|id)|obs(?:ervation)?s?|case[_ .]?(?:no|nr|num(?:ber)?)?"
    r"|serial|seq(?:uence)?[_ .]?(?:no|nr|num)?|no\.?|nr\.?|num|lfd\.?(?: ?nr\.?)?)"
    r"|.*[a-z](?:Id|ID|No|Nr)"
)
#: names of integers whose order may mean nothing
CODE_NAME = re.compile(
    r"(?:.*[_\W]|.*[a-z](?=[A-Z]))?(?:"
    r"(?i:zip|zipcode|zip_code|postcode|post_code|postal|plz|codes?|icd\d*|naics|sic|phone|"
    r"telephone|tel|mobile|fax|iban|isbn|ean|gtin|upc|sku|ssn|vat|account|card)(?:[_\W].*)?"
    rf"|(?i:{IDENTIFIERS}|id[_ .]?(?:num(?:ber)?|no|nr|str)|origin|region|race|ethnic(?:ity)?|"
    r"marita?l|status|type|birthplace|religion|occupation|industry|sector|dept|department|store|branch|"
    r"precinct|district|county|country|nationality|state|flight|team|brand)\d*)"
)
#: with what stands before and behind, by which the longitude is found
LATITUDE_NAME = re.compile(r"(|.*[^a-z]|.*(?=latitude))(latitude|lat)(|[^a-z].*)", re.IGNORECASE)
