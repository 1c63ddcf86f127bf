/** What members are written, in English and Chinese: whoever asked is not known yet, so neither is their language. */

export interface Message {
  /** What it is, for the log. */
  readonly kind: 'code' | 'device' | 'password' | 'test'
  readonly subject: string
  readonly text: string
}

/** The site's name and address are the operator's own. */
export interface Sender {
  readonly name: string
  readonly site: string
}

export function codeMessage({ name, site }: Sender, code: string): Message {
  return {
    kind: 'code',
    subject: `${name}: your sign-in code / 登录验证码`,
    text: [
      `Your code for ${name} is:`,
      '',
      `    ${code}`,
      '',
      'It is good for 5 minutes, once, in the browser where you asked for it.',
      'If you did not ask for it, do nothing. Never tell it to anybody: we do not ask for it.',
      '',
      `你的 ${name} 验证码是 ${code},5 分钟内有效,仅可在请求验证码的浏览器中使用一次。`,
      '如果不是你本人操作,请忽略此邮件。请勿将验证码告诉任何人。',
      '',
      site,
      '',
    ].join('\n'),
  }
}

export function deviceMessage(
  { name, site }: Sender,
  device: { readonly client: string; readonly hostname: string | null; readonly at: number },
): Message {
  const where = device.hostname === null ? device.client : `${device.client} (${device.hostname})`
  const when = new Date(device.at).toISOString()
  return {
    kind: 'device',
    subject: `${name}: a device was signed in / 有设备登录了你的账户`,
    text: [
      `${where} was signed in to your ${name} account at ${when}, because somebody approved it with your account.`,
      `If that was not you, end it at ${site}/sessions and change your password.`,
      '',
      `${where} 已于 ${when} 登录你的 ${name} 账户。`,
      `如果不是你本人批准的,请在 ${site}/sessions 结束该会话并修改密码。`,
      '',
    ].join('\n'),
  }
}

export function passwordMessage({ name, site }: Sender, at: number): Message {
  const when = new Date(at).toISOString()
  return {
    kind: 'password',
    subject: `${name}: your password was changed / 密码已修改`,
    text: [
      `The password of your ${name} account was changed at ${when}. All other sessions were ended.`,
      `If that was not you, sign in with a mail code at ${site}/sign-in and set a new one.`,
      '',
      `你的 ${name} 账户密码已于 ${when} 修改,其他会话均已结束。`,
      `如果不是你本人操作,请在 ${site}/sign-in 用邮箱验证码登录并重新设置密码。`,
      '',
    ].join('\n'),
  }
}

/** What the operator sends to see that letters arrive. */
export function testMessage({ name }: Pick<Sender, 'name'>): Message {
  return {
    kind: 'test',
    subject: `${name}: a test letter / 测试邮件`,
    text: [
      'Letters of this service arrive here, so sign-in codes will too.',
      '',
      '本服务的邮件可以送达此地址,登录验证码也可以。',
      '',
    ].join('\n'),
  }
}
