/** Emails are in the reader's language and time, as text and as HTML. */
import t from 'tap'
import { parseTimeZone, unknownReader } from '../../../../src/domain/identity/reader.ts'
import {
  renderDeviceEmail,
  renderPasswordEmail,
  renderReauthenticationEmail,
  renderSignInEmail,
} from '../../../../src/mail/templates/email-templates.ts'

const sender = { name: 'svc', site: 'https://svc.example' }
const han = /\p{Script=Han}/u

t.test('the subject of a sign-in email begins with the code, in the language of the reader', async (t) => {
  const secrets = { code: '258499', link: 'w'.repeat(43) }
  const english = renderSignInEmail(sender, secrets, { language: 'en', timeZone: null })
  t.equal(english.subject, '258 499 is your svc code')
  t.notMatch(english.text + english.html, han)
  const chinese = renderSignInEmail(sender, secrets, { language: 'zh', timeZone: null })
  t.equal(chinese.subject, '258 499 是你的 svc 验证码')
  t.notMatch(chinese.text, /Your code|ignore this/)
  const both = renderSignInEmail(sender, secrets, unknownReader)
  t.match(both.subject, /^258 499 is your svc code \/ 258 499 是/)
  for (const { text, html } of [english, chinese, both]) {
    t.match(text, /^ {4}258499$/m)
    t.match(text, `https://svc.example/sign-in/link#${secrets.link}`)
    t.match(html, '>258499</p>')
    t.match(html, `href="https://svc.example/sign-in/link#${secrets.link}"`)
  }
})

t.test('HTML shows the names of devices and sites as text and loads nothing', async (t) => {
  const device = { client: '<img src=x onerror=alert(1)>', hostname: '"a" & <b>', at: 0 }
  const { html } = renderDeviceEmail({ name: '<i>svc</i>', site: 'https://svc.example' }, device, unknownReader)
  t.notMatch(html, /<img|<i>|<b>/)
  t.match(html, '>“&lt;img src=x onerror=alert(1)&gt;” on “&quot;a&quot; &amp; &lt;b&gt;”</blockquote>')
  t.notMatch(html, /src="|url\(|<link|<script/)
})

t.test('names that a device chose are short and marked as its own words', async (t) => {
  const device = { client: 'svc-cli', hostname: `\u202eMac\u2028approved by us ${'x'.repeat(200)}`, at: 0 }
  for (const language of ['en', 'zh'] as const) {
    const { text } = renderDeviceEmail({ name: 'svc', site: 'https://svc.example' }, device, { ...unknownReader, language })
    t.notMatch(text, /[\u2028\u202e]/)
    t.match(text, /“Mac approved by us x{40,60}…”/)
  }
})

t.test('times are in the zone of the reader, and in UTC if it is unknown', async (t) => {
  const at = Date.UTC(2026, 10, 24, 7, 24)
  t.match(renderPasswordEmail(sender, at, { language: 'en', timeZone: 'Asia/Shanghai' }).text, '24 November 2026 at 15:24 GMT+8')
  t.match(renderPasswordEmail(sender, at, { language: 'zh', timeZone: 'Asia/Shanghai' }).text, '2026年11月24日 15:24 GMT+8')
  t.match(renderPasswordEmail(sender, at, { language: 'en', timeZone: null }).text, '24 November 2026 at 07:24 UTC')
  for (const [sent, zone] of [
    ['Europe/Berlin', 'Europe/Berlin'],
    ['Mars/Base', null],
    ['', null],
    ['a'.repeat(65), null],
    ["UTC'; drop", null],
  ] as const)
    t.equal(parseTimeZone(sent), zone, sent)
})

t.test('an email without a code says what to do instead', async (t) => {
  const blocked = renderReauthenticationEmail(sender, null, { language: 'en', timeZone: null })
  t.match(blocked.text, 'sign in again')
  t.notMatch(blocked.subject, /\d{3}/)
  t.match(
    renderSignInEmail(sender, { code: null, link: 'x' }, { language: 'en', timeZone: null }).subject,
    'Your svc sign-in link',
  )
})
