/** What members are written, in English and Chinese: whoever asked is not known yet, so neither is their language. */

export interface Message {
  /** What it is, for the log. */
  readonly kind: 'code' | 'proof' | 'device' | 'password' | 'test'
  readonly subject: string
  readonly text: string
}

/** The site's name and address are the operator's own. */
export interface Sender {
  readonly name: string
  readonly site: string
}

/** Signs in: by its code in the browser that asked, by its link in any. Without a code where strangers have guessed at too many. */
export function letterMessage({ name, site }: Sender, code: string | null, link: string): Message {
  const [subject, english, chinese] =
    code === null
      ? ([
          `${name}: your sign-in link / 登录链接`,
          [`To sign in to ${name}, open this link, within an hour, once:`],
          `请在一小时内打开上面的链接登录 ${name},链接仅可使用一次。`,
        ] as const)
      : ([
          `${name}: your sign-in code / 登录验证码`,
          [
            `Your code for ${name} is:`,
            '',
            `    ${code}`,
            '',
            'It is good for 5 minutes, once, in the browser where you asked for it. Or open this link, within an hour, once:',
          ],
          `你的 ${name} 验证码是 ${code},5 分钟内有效,仅可在请求验证码的浏览器中使用一次。也可以在一小时内打开上面的链接登录,链接仅可使用一次。`,
        ] as const)
  return {
    kind: 'code',
    subject,
    text: [
      ...english,
      '',
      // What stands behind the `#` is not sent to servers, so no log has it.
      `${site}/sign-in/link#${link}`,
      '',
      'If you did not ask for it, do nothing. Never pass it on to anybody: we do not ask for it.',
      '',
      chinese,
      '如果不是你本人操作,请忽略此邮件。请勿将验证码或链接告诉任何人。',
      '',
      site,
      '',
    ].join('\n'),
  }
}

/** Confirms a change; signs nobody in, so it has no link. */
export function proofMessage({ name, site }: Sender, code: string | null): Message {
  return {
    kind: 'proof',
    subject: `${name}: confirm a change to your account / 确认账户操作`,
    text: [
      ...(code === null
        ? [
            `Somebody signed in to your ${name} account has asked for a code to change it, and wrong codes were entered too often.`,
            'No new one is given for an hour. Sign in anew to go on.',
          ]
        : [
            `To confirm a change to your ${name} account, enter this code where you asked for it:`,
            '',
            `    ${code}`,
            '',
            'It is good for 5 minutes, once.',
          ]),
      `If that was not you, somebody else is signed in to your account: end their session at ${site}/sessions.`,
      '',
      code === null
        ? `你的 ${name} 账户操作验证码输错次数过多,一小时内不再发送。请重新登录后再试。`
        : `确认 ${name} 账户操作的验证码是 ${code},5 分钟内有效,仅可使用一次。`,
      `如果不是你本人操作,说明有人登录了你的账户,请在 ${site}/sessions 结束其会话。`,
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
