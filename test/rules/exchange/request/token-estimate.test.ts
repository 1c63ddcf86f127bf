/** Likely tokens, against what real tokenizers made of these texts: the mean of o200k, Qwen 3 and DeepSeek V3. */
import t from 'tap'
import { estimateTokens } from '../../../../src/exchange/request/token-estimate.ts'
import { countMaxTokens } from '../../../../src/exchange/request/token-upper-bound.ts'

const samples: readonly (readonly [name: string, text: string, tokens: number])[] = [
  [
    'English prose',
    'The harbour was quiet when the ferry left, and only a few passengers stood at the rail. Most of them had made the crossing many times before; they read their newspapers or watched the gulls. A child asked how deep the water was, and nobody could give an exact answer.',
    57,
  ],
  [
    'a technical paragraph',
    'The scheduler assigns each request to a worker with a free slot. If no worker is available, the request waits in a bounded queue, and after two seconds it is rejected with status 429 and a Retry-After header.',
    46,
  ],
  [
    'TypeScript',
    'export function mergeRanges(ranges: readonly Range[]): Range[] {\n  const sorted = [...ranges].sort((a, b) => a.start - b.start)\n  const merged: Range[] = []\n  for (const range of sorted) {\n    const last = merged.at(-1)\n    if (last !== undefined && range.start <= last.end) last.end = Math.max(last.end, range.end)\n    else merged.push({ ...range })\n  }\n  return merged\n}\n',
    99,
  ],
  [
    'Python',
    "def read_rows(path, delimiter=','):\n    with open(path, newline='') as handle:\n        reader = csv.DictReader(handle, delimiter=delimiter)\n        for number, row in enumerate(reader, start=2):\n            if not row['email']:\n                raise ValueError(f'line {number}: no e-mail address')\n            yield row\n",
    72,
  ],
  [
    'Chinese',
    '港口很安静，渡轮离开时只有几位乘客站在栏杆旁。他们大多数人已经多次往返，有的在看报纸，有的在看海鸥。一个孩子问水有多深，没有人能给出准确的答案。',
    50,
  ],
  [
    'Chinese with names',
    '请使用 Python 3.12 编写一个脚本，从 PostgreSQL 数据库读取订单，并按月份统计销售额，结果保存为 CSV 文件。',
    32,
  ],
  [
    'German',
    'Die Fähre verließ den Hafen am frühen Morgen, und nur wenige Fahrgäste standen an der Reling. Die meisten von ihnen hatten die Überfahrt schon oft gemacht.',
    41,
  ],
  [
    'JSON',
    '{"name":"search_orders","description":"Finds orders of a customer.","parameters":{"type":"object","properties":{"customer_id":{"type":"string","description":"Id of the customer."},"limit":{"type":"integer","minimum":1,"maximum":100}},"required":["customer_id"]}}',
    61,
  ],
  [
    'a log',
    '2026-11-24T09:15:02.113Z INFO  worker=3 request=mbr_01 status=200 duration_ms=412 tokens=1873\n2026-11-24T09:15:02.980Z WARN  worker=1 request=mbr_02 status=502 duration_ms=30007 tokens=0\n',
    85,
  ],
  [
    'Russian',
    'Паром вышел из гавани рано утром, и только несколько пассажиров стояли у поручней. Большинство из них уже много раз совершали эту переправу.',
    42,
  ],
  [
    'Japanese',
    '港は静かで、フェリーが出発したとき、手すりのそばに立っていた乗客は数人だけだった。ほとんどの人は何度もこの航路を渡ったことがあり、新聞を読んだり、カモメを眺めたりしていた。',
    64,
  ],
]

t.test('estimates ordinary text to a fifth', async (t) => {
  for (const [name, text, real] of samples) {
    const estimate = estimateTokens(text)
    t.ok(Math.abs(estimate / real - 1) <= 0.2, `${name}: ${estimate.toFixed(1)} for ${real}`)
  }
})

t.test('stays below the maximum', async (t) => {
  for (const [name, text] of samples) t.ok(estimateTokens(text) <= countMaxTokens(text), name)
  t.equal(estimateTokens(''), 0)
})
