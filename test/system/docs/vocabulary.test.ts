/** What members read has one word for one thing, in English and Chinese: pages, their documentation, `svc`, e-mails, failures. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { errorCatalog } from '../../../src/errors.ts'
import { docsPages } from '../../../src/pages/docs/docs-pages.ts'
import { texts } from '../../../src/pages/texts/texts.ts'

interface Term {
  /** The chosen words; where a sentence has the English one, its translation has the Chinese one. */
  readonly en: RegExp
  readonly zh: RegExp
  /** Words for the same thing that are not used. */
  readonly notEn?: RegExp
  readonly notZh?: RegExp
  /** Sentences whose translation does without the word. */
  readonly except?: readonly string[]
}

const terms: readonly Term[] = [
  {
    en: /\bplans?\b/i,
    zh: /套餐/,
    notEn: /\b(subscriptions?|tariffs?)\b/i,
    notZh: /订阅|方案/,
    except: ['account.usedShare', 'account.deleteLead'],
  },
  { en: /\bpools?\b/i, zh: /额度/, notEn: /\b(quota pool|buckets?)\b/i, notZh: /配额|额度池/ },
  { en: /\bwindows?\b/i, zh: /周期/, notZh: /时间窗|窗口期/ },
  {
    en: /\b(boosts?|packs?)\b/i,
    zh: /加油包|份|签到|抢|状态/,
    notEn: /\b(top-?ups?|add-?ons?|bonus)\b/i,
    notZh: /加速包|充值|流量包/,
  },
  { en: /\brush\b/i, zh: /抢/, notEn: /\bflash sale\b/i, notZh: /限时抢|秒杀/ },
  {
    en: /\bcredits?\b/i,
    zh: /点/,
    notEn: /\b(credit points|coins)\b/i,
    notZh: /积分|\} 点数|\d 点数/,
    except: ['account.boostsLead', 'keys.lead'],
  },
  { en: /\bkeys?\b/i, zh: /密钥|Idempotency/, notEn: /\b(api|Api) keys?\b|\bAPI Keys\b|\bsecret keys?\b/, notZh: /秘钥|密匙/ },
  { en: /\baccounts?\b/i, zh: /账户/, notEn: /\buser accounts?\b/i, notZh: /账号|帐号|帐户/, except: ['account.securityLead'] },
  { en: /\bturns?\b(?! it on)/i, zh: /请求|次/ },
  {
    en: /\bmessages?\b/i,
    zh: /消息|Messages/,
    except: ['home.description', 'home.points.0.title'],
  },
  { en: /\bconversations?\b/i, zh: /对话/, notZh: /会话/ },
  {
    en: /\bsign(ed|ing|s)?[ -]?(in|out)s?\b/i,
    zh: /登录|退出/,
    notEn: /\b(log|logs|logged|logging)[ -](in|out|into)\b|\bsign[ -]on\b/i,
    notZh: /登陆|登入|登出|注销登录/,
  },
  { en: /\bsessions?\b/i, zh: /登录/, notZh: /会话/ },
  { en: /\bdevices?\b/i, zh: /设备/ },
  { en: /\boperators?\b/i, zh: /管理员/, notEn: /\b(admins?|administrators?)\b/i, notZh: /运营者|运营方|站长/ },
  { en: /\bmodels?\b(?!\})/i, zh: /模型/ },
  { en: /\btiers?\b(?!\})/i, zh: /档位/, notZh: /等级|级别/ },
  { en: /\bpremium\b/i, zh: /高级/, notZh: /旗舰/ },
  { en: /\bfast\b/i, zh: /快速/, notZh: /极速|轻量/ },
  { en: /\bpasswords?\b/i, zh: /密码/, notZh: /口令/ },
  {
    en: /\bemails?\b(?!\})/i,
    zh: /邮/,
    notEn: /\be-mails?\b|\bmail codes?\b|\bletters?\b(?! (with|and))/i,
    notZh: /电邮|邮件码/,
  },
  { en: /\bprograms?\b/i, zh: /程序/ },
  { en: /\bbrowsers?\b/i, zh: /浏览器/ },
  { en: /\btokens?\b/i, zh: /token/i, notZh: /令牌|词元/ },
  { en: /\binvitations?\b/i, zh: /邀/ },
  { en: /\brequests?\b/i, zh: /请求|获取/ },
  { en: /\bcharged?\b/i, zh: /计费|扣|结算|计入/ },
  { en: /\bcommand line\b/i, zh: /命令行/ },
  { en: /\bdelete\b.*\baccount\b/i, zh: /注销/, notZh: /删除账户/ },
]

/** Words that sentence case keeps large in the middle of a sentence: names, and parts of the site by the name on their button. */
const properWords =
  /^(Chinese|Anthropic|Premium|Fast|Sessions|Enter|Esc|Shift|Markdown|Completions|Claude|Code|Roo|Codex|Cursor|Cline|Zed|Aider|Web|Continue|Python|I)$/

interface Pair {
  readonly place: string
  readonly en: string
  readonly zh: string
}

const root = fileURLToPath(new URL('../../..', import.meta.url))
/** Texts of other fields: the terminal's keys and windows, the menus of other programs, the operator's commands. */
const otherFields = ['src/demo-upstream/**', 'src/operator/**', 'src/cli/workbench*/**', 'src/setup/**']
const literal = String.raw`('(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|\x60(?:[^\x60\\]|\\.)*\x60)`
const localizedText = new RegExp(String.raw`\ben:\s*${literal},\s*zh:\s*${literal}`, 'g')

const pairs: readonly Pair[] = [
  ...pairUp(texts.en, texts.zh),
  ...Object.entries(errorCatalog).map(([place, { en, zh }]) => ({ place, en, zh })),
  ...docsPages.map(({ path, title }) => ({ place: path, ...title })),
  ...readSources(['src/**/*.ts', 'plugins/*.ts']).flatMap(({ place, text }) =>
    [...text.matchAll(localizedText)]
      .map(([, en = '', zh = '']) => ({ place, en: en.slice(1, -1), zh: zh.slice(1, -1) }))
      .filter(({ en }) => !en.includes('\n')),
  ),
]

/** Longer texts: the documentation and the e-mails, without code and addresses. */
const documents = readSources(['src/pages/docs/*.ts', 'src/mail/templates/{email-templates,usage-alert-email}.ts']).flatMap(
  ({ place, text }) =>
    [...text.matchAll(new RegExp(literal, 'g'))]
      .flatMap(([words]) => words.split('\n'))
      .map((words) => words.replaceAll(/\\`[^`]*`|\]\([^)]*\)|\$\{[^}]*\}/g, ''))
      .filter((words) => words.includes(' '))
      .map((words) => ({ place, en: words, zh: words })),
)

t.test('a sentence and its translation have the same terms', async (t) => {
  t.ok(pairs.length > 900, `${pairs.length} pairs`)
  for (const { en, zh, except = [] } of terms)
    t.same(
      pairs.filter((pair) => en.test(withoutBlanks(pair.en)) && !zh.test(pair.zh) && !except.includes(pair.place)).map(show),
      [],
      String(en),
    )
})

t.test('each thing has one name', async (t) => {
  t.ok(documents.length > 50, `${documents.length} longer texts`)
  const all = [...pairs, ...documents]
  for (const { notEn, notZh } of terms) {
    if (notEn !== undefined) t.same(all.filter(({ en }) => notEn.test(en)).map(show), [], String(notEn))
    if (notZh !== undefined) t.same(all.filter(({ zh }) => notZh.test(zh)).map(show), [], String(notZh))
  }
})

t.test('English titles, buttons and menus have sentence case', async (t) => {
  const titles = [
    ...pairUp(texts.en, texts.zh),
    ...docsPages.map(({ path, title }) => ({ place: path, en: title.en })),
    ...readSources(['src/pages/docs/*.ts']).flatMap(({ place, text }) =>
      [...text.matchAll(/^#{1,3} ([\x20-\x7e]+)$/gm)].map(([, en = '']) => ({ place, en: en.replace(/ \{#.*/, '') })),
    ),
  ]
  t.ok(titles.length > 400, `${titles.length} titles`)
  const large = titles.flatMap(({ place, en }) =>
    [...en.matchAll(/(?<![.?!:·/“(]\s?)(?<=\s)[A-Z][a-z]+\b/g)]
      .map(([word]) => word)
      .filter((word) => !properWords.test(word))
      .map((word) => `${place}: ${word} in “${en}”`),
  )
  t.same(large, [])
})

function pairUp(en: unknown, zh: unknown, place = ''): Pair[] {
  if (typeof en === 'string') return [{ place, en, zh: String(zh) }]
  if (typeof en !== 'object' || en === null) return []
  const others = zh as Readonly<Record<string, unknown>>
  return Object.entries(en).flatMap(([key, inner]) => pairUp(inner, others[key], place === '' ? key : `${place}.${key}`))
}

/** Sources with their place, without comments. */
function readSources(patterns: readonly string[]): { readonly place: string; readonly text: string }[] {
  return globSync(patterns, { cwd: root, exclude: otherFields }).map((place) => ({
    place,
    text: readFileSync(join(root, place), 'utf8').replaceAll(/\/\*[^]*?\*\/|^\s*\/\/.*$/gm, ''),
  }))
}

/** Without placeholders, names of settings, commands and headers. */
function withoutBlanks(text: string): string {
  return text.replaceAll(/\$?\{[^}]*\}|\b[a-z]+_url\b.*|\bsvc \w+|\w+-Key\b/g, '')
}

function show({ place, en, zh }: Pair): string {
  return en === zh ? `${place}: ${en}` : `${place}: ${en} → ${zh}`
}
