/** The server and its settings: start, init, check, doctor, reload, console, upgrade. */
import { defineFlag, defineText } from '../../command-table/define-option.ts'
import { defineCommand } from './define-command.ts'

export const serverCommands = [
  defineCommand({
    name: 'start',
    summary: { en: 'run the server (the default)', zh: '运行服务器（默认）' },
    examples: [{ line: 'svc-gateway start' }],
    load: async () => {
      const { runServer } = await import('../start.ts')
      return async () => {
        await runServer()
        return undefined
      }
    },
  }),
  defineCommand({
    name: 'init',
    summary: {
      en: 'ask for the settings of a new installation, or change them, check them and write its files; with answers as options it asks nothing',
      zh: '询问新安装的设置或修改已有设置，检查后写入文件；用选项给出答案时不再询问',
    },
    examples: [
      { line: 'svc-gateway init', text: { en: 'ask for everything', zh: '逐项询问' } },
      { line: 'svc-gateway init --plans pro=9,max=19 --currency USD' },
    ],
    options: [
      defineText(
        'folder <folder>',
        { en: 'where the files are written', zh: '文件写入的位置' },
        {
          defaultText: {
            en: '/etc/svc-gateway where it has a gateway.env, else .',
            zh: '/etc/svc-gateway（其中有 gateway.env 时），否则为当前文件夹',
          },
        },
      ),
      defineText('site-url <url>', { en: 'public address of the website and the API', zh: '网站和 API 的公开地址' }),
      defineText('upstream-url <url>', { en: "base URL of the upstream's API", zh: '上游 API 的基础 URL' }),
      defineText('upstream-key-file <file>', { en: 'file with its key', zh: '保存其密钥的文件' }),
      defineText('smtp-url-file <file>', {
        en: 'file with smtp://user:password@host:587',
        zh: '内容为 smtp://user:password@host:587 的文件',
      }),
      defineText('mail-from <sender>', { en: 'sender of all emails', zh: '所有邮件的发件人' }),
      defineText('notify-mail <address>', { en: 'send incidents to this address', zh: '将故障通知发送到该地址' }),
      defineText('test-mail <address>', { en: 'send an email to this address', zh: '向该地址发送一封邮件' }),
      defineText('light-model <model>', { en: 'model of the upstream for the tier light', zh: 'light 档使用的上游模型' }),
      defineText('flagship-model <model>', {
        en: 'model of the upstream for the tier flagship',
        zh: 'flagship 档使用的上游模型',
      }),
      defineText('currency <code>', { en: 'currency of the plans, such as USD', zh: '套餐的货币，例如 USD' }),
      defineText('plans <plans>', {
        en: 'plans with their price of a month, such as pro=9,max=19',
        zh: '套餐及其月价，例如 pro=9,max=19',
      }),
      defineText('issuer <url>', { en: 'issuer of an OpenID Connect provider', zh: 'OpenID Connect 提供方的 issuer' }),
      defineText('provider-name <name>', { en: 'its name on the button', zh: '按钮上显示的名称' }),
      defineText('client-id <id>', { en: 'client id at the provider', zh: '在提供方的客户端 ID' }),
      defineText('client-secret-file <file>', { en: 'file with the client secret', zh: '保存客户端密钥的文件' }),
    ],
    load: async () => {
      const [{ init }, { openTerminalDialogue }] = await Promise.all([
        import('../commands/init/init.ts'),
        import('../commands/init/terminal-dialogue.ts'),
      ])
      const { stdin, stderr } = process
      const openDialogue = stdin.isTTY && stderr.isTTY ? async () => openTerminalDialogue() : null
      return (options) => init(options, openDialogue)
    },
  }),
  defineCommand({
    name: 'check',
    summary: { en: 'check the configuration and report what follows from it', zh: '检查配置并说明由此产生的结果' },
    examples: [{ line: 'svc-gateway check' }],
    load: async () => (await import('../commands/check.ts')).check,
  }),
  defineCommand({
    name: 'doctor',
    summary: { en: 'check everything that a server needs on this machine', zh: '检查服务器在本机所需的一切' },
    examples: [
      { line: 'svc-gateway doctor' },
      { line: 'svc-gateway doctor --from https://example.com', text: { en: 'also the proxies', zh: '同时检查代理' } },
    ],
    options: [
      defineText('send-test-mail <address>', { en: 'send an email to this address', zh: '向该地址发送一封邮件' }),
      defineFlag('deep', {
        en: 'also try one chat of one token with each upstream model, and a picture where a product is sold with them',
        zh: '同时用每个上游模型试做一次单 token 对话；若有带图片的产品，也试传一张图片',
      }),
      defineText('from <url>', {
        en: 'also send requests through this public address, and name missing lines of the proxies',
        zh: '同时经该公开地址发送请求，并指出代理缺少的配置',
      }),
    ],
    load: async () => (await import('../commands/doctor/doctor.ts')).doctor,
  }),
  defineCommand({
    name: 'reload',
    summary: {
      en: 'let the running server read its configuration again, without a lost connection',
      zh: '让运行中的服务器重新读取配置，不断开任何连接',
    },
    examples: [{ line: 'svc-gateway reload' }],
    load: async () => (await import('../commands/reload.ts')).reload,
  }),
  defineCommand({
    name: 'console',
    summary: { en: 'print a link that opens the console in a browser, and open it', zh: '输出并打开控制台链接' },
    examples: [{ line: 'svc-gateway console' }],
    options: [
      {
        name: 'no-browser',
        kind: 'flag',
        summary: { en: 'only print the link', zh: '仅输出链接' },
      },
    ],
    load: async () => {
      const { openConsole } = await import('../commands/console.ts')
      return (options) => openConsole(options)
    },
  }),
  defineCommand({
    name: 'upgrade',
    summary: {
      en: 'replace the version that the service runs, or go back to the one before',
      zh: '更换服务运行的版本，或回到之前的版本',
    },
    examples: [{ line: 'svc-gateway upgrade --to 1.4.0' }, { line: 'svc-gateway upgrade --back' }],
    options: [
      defineText('to <release>', {
        en: 'a tarball with SHA256SUMS beside it, or a version',
        zh: '旁边有 SHA256SUMS 的压缩包，或版本号',
      }),
      defineText('sha256 <sum>', {
        en: 'checksum of the tarball, in place of SHA256SUMS',
        zh: '压缩包的校验和，代替 SHA256SUMS',
      }),
      defineText(
        'releases <url>',
        { en: 'address of the releases, where --to is a version', zh: '发行版的地址（--to 为版本号时）' },
        { defaultText: 'RELEASES_URL' },
      ),
      defineFlag('ignore-doctor', {
        en: 'also where the doctor of the new version finds faults',
        zh: '即使新版本的 doctor 发现问题也继续',
      }),
      defineFlag('has-backup', { en: 'with PostgreSQL: you have a backup of your own', zh: '使用 PostgreSQL 时：你已自行备份' }),
      defineFlag('back', { en: 'go back to the version before', zh: '回到之前的版本' }),
      defineFlag('lose-them', { en: 'also where that loses what was recorded since', zh: '即使会丢失此后的记录也继续' }),
      defineFlag('unless-served', { en: 'only a server that never ran', zh: '仅当服务器从未运行' }, { hidden: true }),
    ],
    load: async () => {
      const { upgrade } = await import('../commands/upgrade/upgrade.ts')
      return (options) => upgrade(options, process.stderr)
    },
  }),
]
