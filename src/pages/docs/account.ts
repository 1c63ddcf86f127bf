import { getLegalLink } from '../site-texts/legal-text.ts'
import type { DocsPage } from './docs-page.ts'

export const account: DocsPage = {
  path: '/docs/account',
  title: { en: 'Your account', zh: '你的账户' },
  group: 'guide',
  write: ({ services: { config, orders }, site }) => {
    const { contactUrl } = config.site
    const link = (name: 'terms' | 'privacy', language: 'en' | 'zh'): string | null => {
      const address = getLegalLink(config, name, language)
      return address === null ? null : address.startsWith('/') ? site + address : address
    }
    const operator =
      contactUrl === null
        ? ['the operator of this service', '本服务的管理员']
        : [`[the operator](${contactUrl})`, `[管理员](${contactUrl})`]
    const [privacy, privacyZh] = [link('privacy', 'en'), link('privacy', 'zh')]
    return {
      en: `# Your account

## Email and password {#sign-in}

Change your email address, and set or change a password, under [Security](${site}/account/security). A new address proves itself with a code. Changing the password ends your other sessions; without a password you sign in by email code.

## Sessions and keys {#sessions}

[Sessions](${site}/sessions) lists where you are signed in, and the security log. End what you do not recognise, then change your password. A lost [API key](${site}/keys) is revoked at once and for good.

## Invite others {#invite}

Your invitation link is under [Boosts](${site}/account/boosts). You get credits once the person you invited has used the service.

## Refunds {#refund}

A request that fails costs nothing: its credits are refunded by themselves, and [Usage](${site}/account) lists it as “not charged”. A request that you stop is charged for what was written until then. ${orders === null ? `About money that you have paid for a plan, ask ${operator[0]}.` : `For money that you have paid, see [refunds of purchases](${site}/docs/buying#refunds).`}

## Emails {#emails}

Emails at 80 % and at 100 % of your usage are switched on and off, also to unsubscribe, in the [profile](${site}/account/profile).

## Privacy {#privacy}

Your address, sessions, keys (as hashes), amounts of usage and the security log are stored on the server. The text of requests and answers is not; generated images are, for a limited time. Conversations of the [chat](${site}/chat) are stored in your browser only, and can be exported there.${privacy === null ? '' : ` The operator’s privacy notice is [here](${privacy}).`}

## Delete your account {#delete}

Delete account is at the end of [Security](${site}/account/security). Your address, sessions, keys and the conversations in this browser are gone at once and for good. Usage records stay, without your name.
`,
      zh: `# 你的账户

## 邮箱和密码 {#sign-in}

在[安全](${site}/account/security)页更改邮箱、设置或修改密码。新邮箱需用验证码确认。修改密码会退出其他设备；没有密码时用邮箱验证码登录。

## 登录设备和密钥 {#sessions}

[登录设备](${site}/sessions)页列出你的登录状态和安全日志。如有不认识的，请结束它并修改密码。丢失的 [API 密钥](${site}/keys)可立即永久吊销。

## 邀请他人 {#invite}

邀请链接在[加油包](${site}/account/boosts)页。你邀请的人首次使用后，你将获得点数。

## 退款 {#refund}

失败的请求不收费：点数会自动退还，[用量](${site}/account)页显示为“未计费”。你主动停止的请求按已生成的内容计费。${orders === null ? `有关已支付的套餐费用，请联系${operator[1]}。` : `有关已支付的款项，请见[购买的退款](${site}/docs/buying#refunds)。`}

## 邮件通知 {#emails}

用量达到 80% 和 100% 时的邮件可在[资料](${site}/account/profile)页开启、关闭或退订。

## 隐私 {#privacy}

服务器保存你的邮箱、登录状态、密钥的哈希值、用量数字和安全日志，不保存请求和回答的内容；生成的图像会保存一段时间。[对话](${site}/chat)只保存在你的浏览器中，可在那里导出。${privacyZh === null ? '' : `管理员的隐私声明见[这里](${privacyZh})。`}

## 注销账户 {#delete}

在[安全](${site}/account/security)页底部注销账户。邮箱、登录状态、密钥以及此浏览器中的对话会立即永久删除；用量记录保留，但不再与你关联。
`,
    }
  },
}
