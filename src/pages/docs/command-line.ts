import { code } from './docs-page.ts'
import type { DocsPage } from './docs-page.ts'

export const commandLine: DocsPage = {
  path: '/docs/cli',
  title: { en: 'Command line', zh: '命令行' },
  group: 'guide',
  write: ({ services, site }) => {
    const { names, config, origins } = services
    const { slug } = names
    const url = config.brand.cliPackageUrl
    const login = code(
      'sh',
      'shell',
      `${url === null ? '' : `npm install --global ${url}\n`}export SVC_SITE_URL="${origins.site}"\n${slug} login\n${slug} chat "Hello"`,
    )
    const device = code(
      'sh',
      'shell',
      `curl -X POST ${origins.site}/api/membership/auth/device/start \\
  -H "Content-Type: application/json" -d '{"client": "${names.cliClient}"}'

curl -X POST ${origins.site}/api/membership/auth/device/poll \\
  -H "Content-Type: application/json" -d '{"device_code": "…"}'`,
    )
    const setup = code('sh', 'shell', `${slug} setup codex\n${slug} setup codex --write`)
    return {
      en: `# Command line

\`${slug}\` signs in through your browser: it prints a link and a code, you compare and approve, and it keeps its session.

${login}
${url === null ? '\nThe operator of this site can give you the command as a package for npm.\n' : ''}
## Set up your tools {#setup}

The command shows what it would change in a tool’s configuration, and writes it with \`--write\`. All tools are under [tools](${site}/docs/tools).

${setup}

## Sign in from a script {#device}

Ask for a code, open the link, then poll until it is approved.

${device}
`,
      zh: `# 命令行

\`${slug}\` 通过浏览器登录：它会显示链接和设备码，核对并批准后，它会保存自己的登录状态。

${login}
${url === null ? '\n该命令的 npm 安装包可向本站管理员索取。\n' : ''}
## 配置你的工具 {#setup}

该命令会先显示将对工具配置做的改动，加上 \`--write\` 才会写入。全部工具见[工具](${site}/docs/tools)。

${setup}

## 在脚本中登录 {#device}

申请设备码，打开链接，然后轮询直到批准。

${device}
`,
    }
  },
}
