/** Emails to members, in the reader's language, or in English and Chinese if it is unknown. */
import { toDisplayName } from '../../domain/identity/display-name.ts'
import type { Reader } from '../../domain/identity/reader.ts'
import { layOutHtml, layOutText } from './email-layout.ts'
import type { EmailBlock } from './email-layout.ts'

/** The kinds of emails, for the log. */
export const emailKinds = [
  'code',
  'reauthentication',
  'device',
  'password',
  'email_change',
  'email_changed',
  'account_deleted',
  'account_deletion_waits',
  'usage_alert',
  'purchase',
  'notification',
  'test',
] as const

export interface EmailContent {
  readonly kind: (typeof emailKinds)[number]
  readonly subject: string
  readonly text: string
  readonly html: string
  /** Where a POST without a sign-in switches such emails off (RFC 8058). */
  readonly unsubscribeUrl?: string
}

/** The site's name and address, as the operator configures them. */
export interface SenderIdentity {
  readonly name: string
  readonly site: string
}

/** An email in one language. */
interface Draft {
  readonly subject: string
  readonly blocks: readonly EmailBlock[]
}

type Drafts = Readonly<Record<'en' | 'zh', Draft>>

export const text = (content: string): EmailBlock => ({ kind: 'text', text: content })
export const note = (content: string, url?: string): EmailBlock => ({
  kind: 'note',
  text: content,
  ...(url === undefined ? {} : { url }),
})

/** Signs in: by its code in the requesting browser, by its link in any. Without a code if too many wrong codes were entered. */
export function renderSignInEmail(
  { name, site }: SenderIdentity,
  { code, link }: { readonly code: string | null; readonly link: string },
  reader: Reader,
): EmailContent {
  // Browsers do not send the part after `#`, so no server log contains it.
  const url = `${site}/sign-in/link#${link}`
  const english = note(
    'If you did not request this, ignore this email. Do not share the code or the link: we never ask for them.',
  )
  const chinese = note('如果不是你本人操作，请忽略此邮件。请勿将验证码或链接告诉任何人。')
  if (code === null)
    return renderEmail(
      'code',
      { name, reader },
      {
        en: {
          subject: `Your ${name} sign-in link`,
          blocks: [
            text(`To sign in to ${name}, open this link within an hour. It works once.`),
            { kind: 'link', label: `Sign in to ${name}`, url },
            english,
          ],
        },
        zh: {
          subject: `${name} 登录链接`,
          blocks: [
            text(`请在一小时内打开此链接登录 ${name}，链接仅可使用一次。`),
            { kind: 'link', label: `登录 ${name}`, url },
            chinese,
          ],
        },
      },
    )
  return renderEmail(
    'code',
    { name, reader },
    {
      en: {
        subject: `${spaceCode(code)} is your ${name} code`,
        blocks: [
          text(`Your code for ${name} is:`),
          { kind: 'code', code },
          text(
            'The code works once, within 5 minutes, in the browser where you requested it. Or open this link within an hour. It works once.',
          ),
          { kind: 'link', label: `Sign in to ${name}`, url },
          english,
        ],
      },
      zh: {
        subject: `${spaceCode(code)} 是你的 ${name} 验证码`,
        blocks: [
          text(`你的 ${name} 验证码是：`),
          { kind: 'code', code },
          text('验证码 5 分钟内有效，仅可在请求验证码的浏览器中使用一次。也可以在一小时内打开此链接登录，链接仅可使用一次。'),
          { kind: 'link', label: `登录 ${name}`, url },
          chinese,
        ],
      },
    },
  )
}

/** Confirms a change. It signs no one in, so it has no link. */
export function renderReauthenticationEmail({ name, site }: SenderIdentity, code: string | null, reader: Reader): EmailContent {
  const english = note(`If this was not you, another person is signed in to your account: end their session at ${site}/sessions.`)
  const chinese = note(`如果不是你本人操作，说明有人登录了你的账户，请在 ${site}/sessions 结束其登录。`)
  if (code === null)
    return renderEmail(
      'reauthentication',
      { name, reader },
      {
        en: {
          subject: `${name}: confirm a change to your account`,
          blocks: [
            text(
              `A code to change your ${name} account was requested in a signed-in session, and wrong codes were entered too often.`,
            ),
            text('No new code is sent for an hour. To continue, sign in again.'),
            english,
          ],
        },
        zh: {
          subject: `${name}：确认账户操作`,
          blocks: [text(`你的 ${name} 账户操作验证码输错次数过多，一小时内不再发送。请重新登录后再试。`), chinese],
        },
      },
    )
  return renderEmail(
    'reauthentication',
    { name, reader },
    {
      en: {
        subject: `${spaceCode(code)} confirms a change to your ${name} account`,
        blocks: [
          text(`To confirm a change to your ${name} account, enter this code where you asked for it:`),
          { kind: 'code', code },
          text('The code works once, within 5 minutes.'),
          english,
        ],
      },
      zh: {
        subject: `${spaceCode(code)} 用于确认 ${name} 账户操作`,
        blocks: [
          text(`确认 ${name} 账户操作的验证码是：`),
          { kind: 'code', code },
          text('验证码 5 分钟内有效，仅可使用一次。'),
          chinese,
        ],
      },
    },
  )
}

export function renderDeviceEmail(
  { name, site }: SenderIdentity,
  device: { readonly client: string; readonly hostname: string | null; readonly at: number },
  reader: Reader,
): EmailContent {
  // The names are the device's own words.
  const words = [device.client, device.hostname].flatMap((name) => toDisplayName(name) ?? []).map((word) => `“${word}”`)
  return renderEmail(
    'device',
    { name, reader },
    {
      en: {
        subject: `${name}: a device was signed in`,
        blocks: [
          text(
            `A device was signed in to your ${name} account on ${formatEmailTime(device.at, 'en', reader)}, because it was approved with your account. It calls itself:`,
          ),
          { kind: 'quote', text: words.join(' on ') },
          note(`If this was not you, end the session at ${site}/sessions and change your password.`),
        ],
      },
      zh: {
        subject: `${name}：有设备登录了你的账户`,
        blocks: [
          text(`有设备经你的账户批准，已于 ${formatEmailTime(device.at, 'zh', reader)} 登录你的 ${name} 账户。它自称：`),
          { kind: 'quote', text: words.join('，计算机 ') },
          note(`如果不是你本人批准的，请在 ${site}/sessions 结束该登录并修改密码。`),
        ],
      },
    },
  )
}

export function renderPasswordEmail({ name, site }: SenderIdentity, at: number, reader: Reader): EmailContent {
  return renderEmail(
    'password',
    { name, reader },
    {
      en: {
        subject: `${name}: your password was changed`,
        blocks: [
          text(
            `The password of your ${name} account was changed on ${formatEmailTime(at, 'en', reader)}. All other sessions were ended.`,
          ),
          note(`If this was not you, sign in with an email code at ${site}/sign-in and set a new password.`),
        ],
      },
      zh: {
        subject: `${name}：密码已修改`,
        blocks: [
          text(`你的 ${name} 账户密码已于 ${formatEmailTime(at, 'zh', reader)} 修改，其他设备均已退出登录。`),
          note(`如果不是你本人操作，请在 ${site}/sign-in 用邮箱验证码登录并重新设置密码。`),
        ],
      },
    },
  )
}

export function renderAccountDeletedEmail({ name, site }: SenderIdentity, at: number, reader: Reader): EmailContent {
  return renderEmail(
    'account_deleted',
    { name, reader },
    {
      en: {
        subject: `${name}: your account was deleted`,
        blocks: [
          text(
            `Your ${name} account was deleted on ${formatEmailTime(at, 'en', reader)}. Your address, sessions and keys were removed, and the keys no longer work.`,
          ),
          note(
            `If this was not you, another person was signed in to your account or reads this mailbox: change the mailbox's password. You can sign up again at ${site}/sign-in.`,
          ),
        ],
      },
      zh: {
        subject: `${name}：账户已注销`,
        blocks: [
          text(`你的 ${name} 账户已于 ${formatEmailTime(at, 'zh', reader)} 注销。此邮箱、登录状态与密钥均已删除，密钥不再有效。`),
          note(`如果不是你本人操作，说明有人可以使用你的登录或邮箱，请修改此邮箱的密码。可在 ${site}/sign-in 重新注册。`),
        ],
      },
    },
  )
}

/** The renewal of a plan is ended at the payment provider first. */
export function renderDeletionWaitsEmail({ name }: SenderIdentity, reader: Reader): EmailContent {
  return renderEmail(
    'account_deletion_waits',
    { name, reader },
    {
      en: {
        subject: `${name}: the deletion of your account waits`,
        blocks: [
          text(
            `You deleted your ${name} account. The payment provider has not yet confirmed that it charges your plan no more, so your address is kept until it has.`,
          ),
          text(
            'You have been signed out, and your keys no longer work. There is nothing to do: another email confirms the deletion.',
          ),
          note('If this was not you, write to the operator before then: the deletion can still be taken back.'),
        ],
      },
      zh: {
        subject: `${name}：账户注销正在等待处理`,
        blocks: [
          text(`你已申请注销 ${name} 账户。支付服务尚未确认停止续费扣款，在此之前会保留你的邮箱。`),
          text('你已退出登录，密钥不再有效。无需任何操作：注销完成后会再发送一封邮件。'),
          note('如果不是你本人操作，请尽快联系管理员，此时仍可撤回注销。'),
        ],
      },
    },
  )
}

/** Sent by the operator to test delivery. */
export function renderTestEmail({ name }: Pick<SenderIdentity, 'name'>): EmailContent {
  const reader = { language: null, timeZone: null }
  return renderEmail(
    'test',
    { name, reader },
    {
      en: { subject: `${name}: test email`, blocks: [text('Emails of this service arrive here, so sign-in codes will too.')] },
      zh: { subject: '测试邮件', blocks: [text('本服务的邮件可以送达此地址，登录验证码也可以。')] },
    },
  )
}

/** The email in the reader's language, or in both. */
export function renderEmail(
  kind: EmailContent['kind'],
  { name, reader: { language } }: { readonly name: string; readonly reader: Reader },
  { en, zh }: Drafts,
): EmailContent {
  const { subject, blocks }: Draft =
    language === null ? { subject: `${en.subject} / ${zh.subject}`, blocks: [...en.blocks, ...zh.blocks] } : { en, zh }[language]
  return { kind, subject, text: layOutText(blocks), html: layOutHtml(blocks, { name, language }) }
}

/** Readable in a list of emails; the site accepts it with the space. */
export function spaceCode(code: string): string {
  return `${code.slice(0, 3)} ${code.slice(3)}`
}

/** `24 November 2026 at 07:24 CET`, in the reader's zone or in UTC. */
export function formatEmailTime(at: number, language: 'en' | 'zh', { timeZone }: Reader): string {
  return new Intl.DateTimeFormat(language === 'zh' ? 'zh-CN' : 'en-GB', {
    dateStyle: 'long',
    timeStyle: 'short',
    timeZone: timeZone ?? 'UTC',
  })
    .format(at)
    .concat(' ', getZoneName(at, timeZone))
}

function getZoneName(at: number, timeZone: string | null): string {
  if (timeZone === null) return 'UTC'
  const parts = new Intl.DateTimeFormat('en-GB', { timeZone, timeZoneName: 'short' }).formatToParts(at)
  return parts.find(({ type }) => type === 'timeZoneName')?.value ?? timeZone
}
