import type { ClientSetup } from '../../setup/client-setup.ts'
import { clientEntries, createClientSetup } from '../../setup/client-setups.ts'
import type { Language } from '../language.ts'
import { code, table } from './docs-page.ts'
import type { DocsFacts, DocsPage } from './docs-page.ts'

/** The list of programs. */
export const tools: DocsPage = {
  path: '/docs/tools',
  title: { en: 'All tools', zh: '全部工具' },
  group: 'tools',
  write: ({ site, services }) => {
    const { slug } = services.names
    const rows = clientEntries.map(({ id, name, api }) => [`[${name}](${site}/docs/tools/${id})`, api, `\`${slug} setup ${id}\``])
    return {
      en: `# Tools

Settings to paste, each tried with the program. The [command line](${site}/docs/cli#setup) can write them for you.

${table(['Program', 'API', 'Command'], ...rows)}

Any other program works that speaks one of these APIs and lets you set the address: see [addresses](${site}/docs#addresses).
`,
      zh: `# 工具

可直接粘贴的配置，均已用对应程序验证。[命令行](${site}/docs/cli#setup)可以替你写入。

${table(['程序', '接口', '命令'], ...rows)}

其他程序只要支持其中一种接口并能设置地址，也可以使用，见[地址](${site}/docs#addresses)。
`,
    }
  },
}

/** One page a program, from the same table as `svc setup`. */
export const toolPages: readonly DocsPage[] = clientEntries.map(({ id, name }) => ({
  path: `/docs/tools/${id}`,
  title: { en: name, zh: name },
  group: 'tools',
  write: (facts) => {
    const setup = createClientSetup(id, facts.setup)
    return { en: writeTool(setup, facts, 'en'), zh: writeTool(setup, facts, 'zh') }
  },
}))

function writeTool(
  { id, name, files, dialog, fields, snippets, notes }: ClientSetup,
  facts: DocsFacts,
  language: Language,
): string {
  const isEnglish = language === 'en'
  const { slug } = facts.services.names
  const command = `\`${slug} setup ${id}${files.length > 0 ? ' --write' : ''}\``
  const intro = isEnglish
    ? `Needs a [key](${facts.site}/keys). The command ${command} ${files.length > 0 ? 'writes these settings for you' : 'shows the same'}.`
    : `需要一个[密钥](${facts.site}/keys)。命令 ${command} ${files.length > 0 ? '可以替你写入这些配置' : '会显示同样的内容'}。`
  const fieldTable = table(
    isEnglish ? ['Field', 'Value'] : ['字段', '值'],
    ...fields.map(({ label, value }) => [label, `\`${value}\``]),
  )
  return [
    `# ${name}`,
    intro,
    ...files.map(({ path, format, text }) => code(format, path, text)),
    ...(fields.length === 0
      ? []
      : [`${dialog?.[language] ?? (isEnglish ? 'Settings' : '设置')}${isEnglish ? ':' : '：'}`, fieldTable]),
    ...snippets.map(({ title, language: kind, text }) => code(kind === 'shell' ? 'sh' : kind, title, text)),
    ...(notes.length === 0
      ? []
      : [`## ${isEnglish ? 'Good to know' : '须知'} {#notes}`, notes.map((note) => `- ${note[language]}`).join('\n')]),
    '',
  ].join('\n\n')
}
