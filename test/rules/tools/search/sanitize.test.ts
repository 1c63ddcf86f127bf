import * as fc from 'fast-check'
import t from 'tap'
import { sanitizeDate, sanitizeScore, sanitizeText, sanitizeUrl, getSourceHost } from '../../../../src/tools/search/sanitize.ts'

t.test('removes markup, active content and content that loads by itself', (t) => {
  const cases: readonly [string, string][] = [
    ['plain words stay as they are', 'plain words stay as they are'],
    ['a < b, b > c, and x<3', 'a < b, b > c, and x<3'],
    ['<b>bold</b> and <a href="https://x.example">a link</a>', 'bold and a link'],
    ['before<script>alert("<b>")</script>after', 'before after'],
    ['before<SCRIPT src=x>never closed', 'before'],
    ['<style>p { color: red }</style>text', 'text'],
    ['<img src=x onerror=alert(1)>text', 'text'],
    ['<scr<b>ipt>alert(1)</scr</b>ipt>', 'alert(1)'],
    ['<img src=x onerror=alert(1)', 'img src=x onerror=alert(1)'],
    ['&lt;script&gt;alert(1)&lt;/script&gt;text', 'text'],
    ['Q&amp;A &#x27;quoted&#39; &hellip;', "Q&A 'quoted' …"],
    ['![tracker](https://evil.example/x.png?q=secret) text', 'tracker text'],
    ['![tracker][1] text', '[tracker][1] text'],
    ['[click](javascript:alert(1)) here', 'click here'],
    ['[click](data:text/html;base64,AAAA) here', 'click here'],
    ['[good](https://good.example/a) link', '[good](https://good.example/a) link'],
    ['go to javascript:alert(1)', 'go to javascript alert(1)'],
    ['JavaScript: The Good Parts', 'JavaScript: The Good Parts'],
    ['null\u0000bell\u0007escape\u001b[31m', 'null bell escape [31m'],
    ['left\u202eright\u2066in\u2069', 'leftrightin'],
    ['<\u200bscript>alert(1)</script>text', 'text'],
    ['<![](x)b>text', 'text'],
    ['zero\u200bwidth\ufeff', 'zerowidth'],
    ['tag\u{E0041}\u{E0042}\u{E007F}', 'tag'],
    ['selector\u{E0100}\u{E01EF}', 'selector'],
    ['spelt \ufe00\ufe01\ufe0e\ufe0fout', 'spelt out'],
    ['behind 😀\ufe0f\ufe0f\ufe0e\ufe08\u{E0155} an emoji', 'behind 😀\ufe0f an emoji'],
    ['joined a\u200db, 😀\u200d\u200d\u200d and 1\ufe0f', 'joined ab, 😀 and 1'],
    ['filled \u034f\u115f\u17b4\u180b\uffa0up', 'filled up'],
    [
      '👩\u200d💻 ❤\ufe0f\u200d🔥 🏳\ufe0f\u200d🌈 👍🏽 👩🏽\u200d🚀 1\ufe0f\u20e3 ☺\ufe0e 🇩🇪',
      '👩\u200d💻 ❤\ufe0f\u200d🔥 🏳\ufe0f\u200d🌈 👍🏽 👩🏽\u200d🚀 1\ufe0f\u20e3 ☺\ufe0e 🇩🇪',
    ],
    ['two\nlines\tone', 'two lines one'],
    ['half \ud800 pair', 'half \ufffd pair'],
  ]
  for (const [dirty, clean] of cases) t.equal(sanitizeText(dirty, 1_000), clean, JSON.stringify(dirty))
  t.equal(sanitizeText('one\n\n\n\ntwo   three\u202e', 100, 'lines'), 'one\n\ntwo three', 'an answer keeps its line breaks')
  for (const indented of ['```py\ndef f():\n    return 1\n```', '1. one\n   - two\n     - three'])
    t.equal(sanitizeText(indented, 100, 'lines'), indented, 'indentation is kept')
  for (const value of [null, undefined, 7, {}, ['x']]) t.equal(sanitizeText(value, 100), '')
  t.end()
})

t.test('keeps code in an answer, with brackets that form no tag', (t) => {
  const cases: readonly [string, string][] = [
    ['a vector<int> and a Map<String, List<Integer>> m', 'a vector‹int› and a Map‹String, List‹Integer›› m'],
    ['send Bearer <token> to <host>', 'send Bearer ‹token› to ‹host›'],
    ['Box<dyn Error>, Option<T>, std::vector<std::string>', 'Box , Option‹T›, std::vector‹std::string›'],
    ['The `<script>` tag embeds code [1].', 'The `‹script›` tag embeds code [1].'],
    ['Use `<img src="x">` or `</div>`, say.', 'Use `‹img src="x"›` or `‹/div›`, say.'],
    ['In HTML the <style> element styles.', 'In HTML the ‹style› element styles.'],
    ['```html\n<a href="x">y</a>\n```', '```html\n‹a href="x"›y‹/a›\n```'],
    ['[1]: see the docs first', '[1]: see the docs first'],
    ['[1]: javascript:alert(1)', ''],
    ['[1]: /admin "title"', ''],
    ['[1]: https://good.example/', '[1]: https://good.example/'],
    ['<x onclick=alert(1)>text', 'text'],
    ['<my-element>text', 'text'],
    ['<script>alert(`</script>`)', '‹script›alert(`‹/script›`)'],
    ['`<script>` and <script>hidden</script>seen', '`‹script›` and seen'],
  ]
  for (const [answer, clean] of cases) t.equal(sanitizeText(answer, 1_000, 'lines'), clean, JSON.stringify(answer))
  t.end()
})

t.test('returns short text without tags or hidden characters for any input', (t) => {
  const piece = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom(
      '<',
      '>',
      '</',
      '<script>',
      '</script>',
      '`',
      '```',
      '<T>',
      '<a ',
      '<!--',
      '-->',
      '&lt;',
      '&#60;',
      '&amp;',
      '![',
      '](',
      ')',
      '[',
      'javascript:',
    ),
    fc.constantFrom('\u202e', '\u{E0041}', '\u200b', '\u0000', '\ud83d\ude00'),
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60 }), fc.integer({ min: 1, max: 200 }), (pieces, longest) => {
      for (const shape of ['line', 'lines'] as const) {
        const clean = sanitizeText(pieces.join(''), longest, shape)
        if (clean.length > longest || !clean.isWellFormed()) return false
        if (/<[a-z/!?]/i.test(clean) || /(?!\n)[\p{Cf}\p{Co}\p{Cc}]/u.test(clean)) return false
        if (/!\[/.test(clean) || (shape === 'line' && clean.includes('\n'))) return false
      }
      return true
    }),
  )
  t.pass('for any text')
  t.end()
})

t.test('sanitises megabytes of hostile text in linear time', (t) => {
  const began = process.cpuUsage()
  for (const bomb of [
    '<',
    '<a,',
    '<a<',
    '`<',
    '```',
    '<script',
    '<script>',
    '<a ',
    '![',
    '[a](',
    '&#',
    '&lt;',
    '\u202e',
    '<!--',
    '](',
    '[a]:',
    '\ufe0f',
    '😀\u200d',
  ])
    sanitizeText(bomb.repeat(Math.ceil(5_000_000 / bomb.length)), 8_000, 'lines')
  t.ok(process.cpuUsage(began).user < 1_000_000)
  t.end()
})

t.test('accepts web addresses only', (t) => {
  const cases: readonly [unknown, string | null][] = [
    ['https://example.com', 'https://example.com/'],
    ['HTTP://Example.COM:80/a b?q=ü#x y', 'http://example.com/a%20b?q=%C3%BC#x%20y'],
    ['https://example.com/{a}|b?c=[1]&d=100%#e#f', 'https://example.com/%7Ba%7D%7Cb?c=%5B1%5D&d=100%25#e%23f'],
    ['https://münchen.example/', 'https://xn--mnchen-3ya.example/'],
    ['https://[2606:4700::1]/x', 'https://[2606:4700::1]/x'],
    ['javascript:alert(1)', null],
    ['data:text/html,x', null],
    ['file:///etc/passwd', null],
    ['ftp://example.com', null],
    ['//example.com', null],
    ['/relative', null],
    ['https://bank.example@evil.example/', null],
    ['https://user:pass@example.com/', null],
    [`https://example.com/${'x'.repeat(3_000)}`, null],
    [`https://example.com/${'ü'.repeat(1_000)}`, null],
    ['', null],
    [null, null],
    [{ href: 'https://example.com' }, null],
  ]
  for (const [value, clean] of cases) t.equal(sanitizeUrl(value, 2_048), clean, String(value).slice(0, 60))
  t.equal(getSourceHost('https://www.example.co.uk/x'), 'example.co.uk')
  t.end()
})

t.test('returns RFC 3339 dates and scores from 0 to 1, or null', (t) => {
  const cases: readonly [unknown, string | null][] = [
    ['2026-03-11', '2026-03-11'],
    ['2026-03-11T08:30:00', '2026-03-11T08:30:00.000Z'],
    ['2026-03-11 08:30', '2026-03-11T08:30:00.000Z'],
    ['2026-03-11T08:30:00+02:00', '2026-03-11T06:30:00.000Z'],
    ['Wed, 11 Mar 2026 08:30:00 GMT', '2026-03-11T08:30:00.000Z'],
    ['2026-13-41', null],
    ['3 days ago', null],
    ['yesterday', null],
    ['', null],
    [1_790_000_000, null],
    [null, null],
  ]
  for (const [value, date] of cases) t.equal(sanitizeDate(value), date, String(value))
  t.same([0, 0.5, 1, 1.01, -1, Number.NaN, '0.5', null].map(sanitizeScore), [0, 0.5, 1, null, null, null, null, null])
  t.end()
})
