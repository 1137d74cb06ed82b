"""Expressions with functions that Spark has and the kernel lacks, one a function.

Columns: `s` and `j` (JSON) STRING, `n` INT, `b` BIGINT, `x` DOUBLE, `d` DATE, `ts` TIMESTAMP, `bin`
BINARY.
"""

from __future__ import annotations

TEXTS = """
ascii(s)
base64(bin)
bit_length(s)
char(65 + abs(n) % 26)
decode(bin, 'utf-8')
elt(abs(n) % 3 + 1, s, 'two', 'three')
find_in_set(s, 'a,b,alpha,,c')
format_number(x, 2)
format_string('%s-%d', s, n)
initcap(s)
instr(s, 'a')
levenshtein(s, 'alpha')
locate('a', s, 2)
luhn_check(cast(b AS STRING))
mask(s)
octet_length(s)
overlay(s, '__', 2)
position('l' IN s)
printf('%05d', n)
regexp_count(s, 'a')
regexp_extract(s, '([a-z]+)(\\\\d*)', 1)
regexp_extract_all(s, '([a-z])', 1)[0]
regexp_instr(s, '[aeiou]')
regexp_replace(s, '[aeiou]', '#')
regexp_substr(s, '[a-m]+')
sentences(s)[0][0]
soundex(s)
split(s, 'a')[0]
substring_index(s, 'a', 1)
to_char(n, 'S99999')
translate(s, 'abc', 'xyz')
try_to_number(cast(n AS STRING), '99999') IS NULL
unbase64(base64(bin)) = bin
hex(s)
unhex(hex(s)) = cast(s AS BINARY)
url_encode(s)
url_decode(url_encode(s))
is_valid_utf8(s)
collation(s)
left(concat_ws('|', array(s, 'z')), 3)
parse_url(concat('http://h/', s, '?k=', cast(n AS STRING)), 'QUERY', 'k')
"""

HASHES = """
crc32(bin)
hash(s, n)
md5(s)
sha(s)
sha1(s)
sha2(s, 256)
xxhash64(s, b)
"""

JSON = """
get_json_object(j, '$.k')
json_array_length(get_json_object(j, '$.a'))
json_object_keys(j)[0]
from_json(j, 'k STRING, v INT').v
to_json(named_struct('s', s, 'n', n))
schema_of_json('{"a": 1}')
size(from_json(j, 'k STRING, v INT, a ARRAY<INT>').a)
aggregate(from_json(j, 'a ARRAY<INT>').a, 0, (acc, e) -> acc + coalesce(e, 0))
from_csv(concat(s, ',', cast(n AS STRING)), 's STRING, n INT').n
to_csv(named_struct('s', s, 'n', n))
xpath_string(concat('<a><b>', hex(s), '</b></a>'), 'a/b')
xpath_int(concat('<a><b>', cast(n AS STRING), '</b></a>'), 'a/b')
variant_get(parse_json(j), '$.v', 'int')
"""

NUMBERS = """
acos(x / 1000)
acosh(abs(x) + 1)
asin(x / 1000)
asinh(x)
atan(x)
atan2(x, 2)
bin(b)
bit_count(n)
bit_get(n, 1)
bround(x, 1)
cbrt(x)
conv(cast(abs(n) AS STRING), 10, 16)
cos(x)
cosh(x / 100)
cot(abs(x) + 1)
csc(abs(x) + 1)
degrees(x)
expm1(x / 100)
factorial(abs(n) % 20)
getbit(b, 2)
hypot(x, n)
log1p(abs(x))
nanvl(x, 0)
pi() + x
positive(n)
radians(x)
rint(x)
sec(x)
shiftleft(n, 2)
shiftright(n, 2)
shiftrightunsigned(n, 2)
sin(x)
sinh(x / 100)
tan(x)
tanh(x)
try_add(n, 1)
try_divide(x, n)
try_multiply(n, 2)
try_subtract(n, 1)
width_bucket(x, -100, 100, 10)
equal_null(s, 'alpha')
nullifzero(n)
zeroifnull(n)
nvl2(s, n, -1)
typeof(x)
"""

TIMES = """
add_months(d, 1)
date_add(d, 3)
date_diff(d, date '2026-01-01')
date_format(ts, 'yyyy-MM-dd HH')
date_from_unix_date(n)
date_part('year', ts)
date_sub(d, 3)
dayname(d)
from_unixtime(b)
from_utc_timestamp(ts, 'Europe/Berlin')
last_day(d)
make_date(2026, abs(n) % 12 + 1, 1)
make_timestamp(2026, 1, 1, abs(n) % 24, 0, 0)
monthname(d)
months_between(ts, timestamp '2026-01-01 00:00:00')
next_day(d, 'MON')
to_date(date_format(d, 'dd/MM/yyyy'), 'dd/MM/yyyy')
to_timestamp(date_format(ts, 'yyyyMMddHHmmss'), 'yyyyMMddHHmmss')
to_unix_timestamp(ts)
to_utc_timestamp(ts, 'Asia/Tokyo')
trunc(d, 'MONTH')
try_to_timestamp(s)
unix_date(d)
timestampadd(HOUR, 2, ts)
timestampdiff(MINUTE, timestamp '2026-01-01 00:00:00', ts)
"""

COLLECTIONS = """
array_contains(array(n, 1, 2), 2)
array_distinct(array(n, n, 1))[0]
array_except(array(1, 2, 3), array(n))[0]
array_intersect(array(1, 2, n), array(n))[0]
array_join(array(s, 'b', 'c'), '-')
array_max(array(n, 5))
array_min(array(n, 5))
array_position(array('a', s), 'alpha')
array_remove(array(n, 1, 2), 1)[0]
array_repeat(s, 2)[1]
array_size(split(s, 'a'))
array_sort(array(3, n, 1))[0]
arrays_overlap(array(n), array(1, 2, 3))
cardinality(array(n, 1))
element_at(array(n, 1), -1)
exists(array(n, 1), e -> e > 3)
filter(array(n, 1, 7), e -> e > 3)[0]
flatten(array(array(n), array(1)))[1]
forall(array(n, 1), e -> e > 0)
map('k', n)['k']
map_contains_key(map('k', n), s)
map_keys(map(s, n))[0]
map_values(map('k', n))[0]
named_struct('a', n, 'b', s).b
reduce(array(1, 2, n), 0, (acc, e) -> acc + e)
sequence(1, 3)[2] + n
size(array(n, 1))
slice(array(n, 1, 2), 2, 1)[0]
sort_array(array(3, n, 1))[0]
str_to_map(concat('k:', s), ',', ':')['k']
struct(n, s).n
transform(array(n, 1), e -> e * 2)[0]
transform_values(map('k', n), (k, v) -> v + 1)['k']
zip_with(array(n), array(b), (p, q) -> p + q)[0]
try_element_at(array(n), 3)
"""


def expressions() -> list[str]:
    """All of them."""
    texts = (TEXTS, HASHES, JSON, NUMBERS, TIMES, COLLECTIONS)
    return [line for text in texts for line in text.strip().splitlines()]
