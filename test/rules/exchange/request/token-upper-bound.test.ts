/**
 * The bound on tokens. The figures are what real tokenizers made of these texts (the worst of o200k, cl100k, DeepSeek V3, Qwen 3, Llama 3,
 * Gemma 3, Llama 2 and Mistral).
 */
import t from 'tap'
import { countMaxTokens } from '../../../../src/exchange/request/token-upper-bound.ts'

/** Deterministic numbers that look random (Park and Miller's generator). */
function drawer(seed = 1): (below: number) => number {
  let state = seed
  return (below) => (state = (state * 48_271) % 2_147_483_647) % below
}

function drawn(length: number, from: string | readonly [number, number]): string {
  const draw = drawer()
  const letters = typeof from === 'string' ? [...from] : null
  return Array.from({ length }, () =>
    letters === null
      ? String.fromCodePoint(Number(from[0]) + draw(Number(from[1]) - Number(from[0])))
      : letters[draw(letters.length)],
  ).join('')
}

const samples: Readonly<Record<string, string>> = {
  digits: drawn(1_000, '0123456789'),
  hex: drawn(1_000, '0123456789abcdef'),
  base64: drawn(1_000, 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'),
  'small letters': drawn(1_000, 'abcdefghijklmnopqrstuvwxyz'),
  'rare letters': drawn(1_000, 'qxzjkvw'),
  'pairs that merge, words of any length': drawn(1_000, 'aeinrst'),
  capitals: drawn(1_000, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'),
  'alternating case': [...drawn(1_000, 'abcdefghijklmnopqrstuvwxyz')].map((c, i) => (i % 2 === 0 ? c : c.toUpperCase())).join(''),
  'single letters': [...drawn(500, 'abcdefghijklmnopqrstuvwxyz')].join(' '),
  'letters and digits': [...drawn(500, 'abcdefghijklmnopqrstuvwxyz')].map((c, i) => `${c}${i % 10}`).join(''),
  'short words': drawn(1_000, 'abcdefghijklmnopqrstuvwxyz').replaceAll(/.../g, '$& '),
  punctuation: drawn(1_000, '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~'),
  'line ends': '\n'.repeat(300),
  whitespace: drawn(1_000, ' \n\t\r'),
  'blanks of many widths': Array.from({ length: 300 }, (_, i) => ' '.repeat(1 + (i % 9)) + String(i % 10)).join(''),
  controls: drawn(500, [1, 31]),
  'printable ASCII': drawn(1_000, [32, 127]),
  'accented letters': drawn(500, [0xc0, 0x100]),
  'rare Latin': drawn(500, [0x100, 0x250]),
  Cyrillic: drawn(500, [0x410, 0x450]),
  'rare Cyrillic': drawn(500, [0x460, 0x530]),
  Greek: drawn(500, [0x391, 0x3c9]),
  Arabic: drawn(500, [0x627, 0x64b]),
  Hebrew: drawn(500, [0x5d0, 0x5eb]),
  NKo: drawn(500, [0x7c0, 0x7eb]),
  Han: drawn(500, [0x4e00, 0x9fa5]),
  'rare Han': drawn(500, [0x3400, 0x4db0]),
  kana: drawn(500, [0x3041, 0x3094]),
  Hangul: drawn(500, [0xac00, 0xd7a4]),
  Thai: drawn(500, [0xe01, 0xe2f]),
  Ethiopic: drawn(500, [0x1200, 0x1380]),
  emoji: drawn(500, [0x1f300, 0x1f64f]),
  'joined emoji': '👩‍👩‍👧‍👦🏳️‍🌈'.repeat(30),
  zalgo: `e${drawn(500, [0x300, 0x36f])}`,
  cuneiform: drawn(300, [0x12000, 0x12399]),
  arrows: drawn(500, [0x2190, 0x2bff]),
}

/** Ordinary writing, which must not be held at more than about three times its price (Chinese and Japanese at three bytes a sign). */
const ordinary: Readonly<Record<string, string>> = {
  English:
    'The quick explanation of slow start is that a sender begins by transmitting a small number of segments, and doubles that number for each round trip in which everything was acknowledged. When a loss is noticed, the window is halved; afterwards it grows by one segment a round trip.',
  German:
    'Die Überprüfung der Geschwindigkeitsbegrenzung erfolgt außerhalb geschlossener Ortschaften mit größter Sorgfalt, während Fußgänger über die Straße müssen.',
  Polish: 'Zażółć gęślą jaźń, przeprowadzając szczegółową weryfikację dźwięków świszczących w chrząszczu.',
  Russian:
    'Проверка ограничения скорости осуществляется за пределами населённых пунктов с величайшей тщательностью, пока пешеходы переходят улицу.',
  Chinese: '慢启动是指发送方开始时只发送少量数据段,每经过一个往返时间,若所有数据都得到确认,则将该数量加倍。',
  Korean:
    '느린 시작은 송신자가 처음에 적은 수의 세그먼트를 보내고 모든 것이 확인될 때마다 그 수를 두 배로 늘리는 것을 의미합니다.',
  code: 'export function createMetrics(): Registry {\n  const registry = new Registry()\n  for (const name of names) registry.add(name, { help: `${name} seconds` })\n  return registry\n}\n',
}

const measured: Readonly<Record<string, number>> = {
  digits: 1000,
  hex: 895,
  base64: 817,
  'small letters': 599,
  'rare letters': 763,
  'pairs that merge, words of any length': 438,
  capitals: 674,
  'alternating case': 872,
  'single letters': 500,
  'letters and digits': 1000,
  'short words': 699,
  punctuation: 768,
  'line ends': 300,
  whitespace: 838,
  'blanks of many widths': 866,
  controls: 500,
  'printable ASCII': 867,
  'accented letters': 642,
  'rare Latin': 951,
  Cyrillic: 554,
  'rare Cyrillic': 1000,
  Greek: 759,
  Arabic: 584,
  Hebrew: 729,
  NKo: 1000,
  Han: 1424,
  'rare Han': 1500,
  kana: 848,
  Hangul: 1476,
  Thai: 775,
  Ethiopic: 1495,
  emoji: 1928,
  'joined emoji': 870,
  zalgo: 994,
  cuneiform: 1200,
  arrows: 1456,
  English: 56,
  German: 47,
  Polish: 49,
  Russian: 58,
  Chinese: 46,
  Korean: 77,
  code: 47,
}

t.test('bounds the tokens of every class of text', async (t) => {
  for (const [name, text] of Object.entries({ ...samples, ...ordinary })) {
    const bound = countMaxTokens(text)
    const worst = measured[name]
    if (worst === undefined) t.fail(`${name} was never measured`)
    else t.ok(bound >= worst, `${name}: at most ${bound}, really ${worst}`)
    t.ok(bound <= Buffer.byteLength(text), `${name}: never more than one token per byte`)
  }
})

t.test('holds ordinary English at about three times its price', async (t) => {
  const bytes = Buffer.byteLength(ordinary['English'] ?? '')
  t.ok(countMaxTokens(ordinary['English'] ?? '') < bytes * 0.66)
})
