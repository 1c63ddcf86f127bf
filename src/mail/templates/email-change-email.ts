/** Emails about a change of an account's address: the code that proves the new one, and the notice to the old one. */
import type { Reader } from '../../domain/identity/reader.ts'
import { formatEmailTime, note, renderEmail, spaceCode, text } from './email-templates.ts'
import type { EmailContent, SenderIdentity } from './email-templates.ts'

export function renderEmailChangeCode({ name }: SenderIdentity, code: string, reader: Reader): EmailContent {
  return renderEmail(
    'email_change',
    { name, reader },
    {
      en: {
        subject: `${spaceCode(code)} confirms your new ${name} address`,
        blocks: [
          text(`To use this address for your ${name} account, enter this code where you asked for it:`),
          { kind: 'code', code },
          text('The code works once, within 5 minutes.'),
          note('If you did not request this, ignore this email. Do not share the code: we never ask for it.'),
        ],
      },
      zh: {
        subject: `${spaceCode(code)} 用于确认新的 ${name} 邮箱`,
        blocks: [
          text(`要将此邮箱用于你的 ${name} 账户，请在请求验证码的页面输入：`),
          { kind: 'code', code },
          text('验证码 5 分钟内有效，仅可使用一次。'),
          note('如果不是你本人操作，请忽略此邮件。请勿将验证码告诉任何人。'),
        ],
      },
    },
  )
}

export function renderEmailChanged(
  { name, site }: SenderIdentity,
  { newAddress, at }: { readonly newAddress: string; readonly at: number },
  reader: Reader,
): EmailContent {
  return renderEmail(
    'email_changed',
    { name, reader },
    {
      en: {
        subject: `${name}: the address of your account was changed`,
        blocks: [
          text(
            `Your ${name} account has the address ${newAddress} since ${formatEmailTime(at, 'en', reader)}. Codes and notices go there now.`,
          ),
          note(`If this was not you, tell the operator of ${site} at once. This address no longer signs in to the account.`),
        ],
      },
      zh: {
        subject: `${name}：账户邮箱已更改`,
        blocks: [
          text(`你的 ${name} 账户邮箱已于 ${formatEmailTime(at, 'zh', reader)} 改为 ${newAddress}，验证码与通知将发送到新邮箱。`),
          note(`如果不是你本人操作，请立即联系 ${site} 的管理员。此邮箱已不能登录该账户。`),
        ],
      },
    },
  )
}
