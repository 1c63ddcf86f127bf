/** The table entries of `svc browser`; `browser.ts` implements them. */
import { defineFlag, defineList, defineNumber, defineText } from '../../command-table/define-option.ts'
import type { Argument, Command, CommandGroup, Option } from '../command.ts'
import { pageOption, selectorOption, waitOption, workspaceOption } from './shared-options.ts'

const requiredSelectorOption: Option = { ...selectorOption, required: true }
const pageArgument: Argument = { name: 'page', optional: true, summary: pageOption.summary }
const text = defineText('text <text>', { en: 'the text; - is standard input', zh: '文本；- 表示标准输入' }, { required: true })

export const browserGroup: CommandGroup = {
  name: 'browser',
  summary: { en: 'a browser without windows: open, read, fill, click', zh: '无窗口浏览器：打开、读取、填写、点击' },
  description: {
    en: 'Pages belong to a workspace; each workspace has cookies of its own. No window is opened. It runs the Chromium of this machine (SVC_BROWSER names another), with its sandbox.',
    zh: '页面属于工作区；每个工作区有独立的 Cookie。不会打开窗口。使用本机的 Chromium（可用 SVC_BROWSER 指定），并启用沙箱。',
  },
  examples: [
    { line: 'svc browser goto https://example.com', text: { en: 'open an address', zh: '打开网址' } },
    {
      line: 'svc browser snapshot',
      text: { en: 'the page as text, with marks to act on', zh: '以文本形式查看页面，并带有可操作的标记' },
    },
    { line: `svc browser fill --selector '#email' --text me@example.com`, text: { en: 'fill a field', zh: '填写输入框' } },
  ],
  commands: [
    {
      name: 'goto',
      summary: { en: 'open an address in the page of this workspace', zh: '在当前工作区的页面中打开网址' },
      examples: [
        {
          line: 'svc browser goto https://example.com',
          text: { en: 'prints page, status and final address', zh: '输出页面、状态码和最终网址' },
        },
      ],
      arguments: [{ name: 'url', summary: { en: 'http, https or about:blank', zh: 'http、https 或 about:blank' } }],
      options: [
        pageOption,
        workspaceOption,
        waitOption,
        defineFlag('allow-file', { en: 'file: addresses, too', zh: '允许 file: 地址' }),
      ],
      load: async () => ({ run: (await import('./browser.ts')).goto }),
    },
    {
      name: 'snapshot',
      summary: { en: 'the page as a tree of roles and names', zh: '以角色和名称的树显示页面' },
      examples: [
        { line: 'svc browser snapshot', text: { en: 'marks like [ref=e5] are used as @e5', zh: '标记 [ref=e5] 可用作 @e5' } },
        { line: 'svc browser snapshot --selector main --depth 3', text: { en: 'a part of it', zh: '其中一部分' } },
      ],
      options: [
        pageOption,
        { ...selectorOption, summary: { en: 'only this part', zh: '仅此部分' } },
        defineNumber('depth <n>', { en: 'how many levels', zh: '层数' }),
        defineNumber('max-bytes <n>', { en: 'cut after this', zh: '超过则截断' }, { defaultText: '1000000' }),
      ],
      load: async () => ({ run: (await import('./browser.ts')).snapshot }),
    },
    {
      name: 'fill',
      summary: { en: 'put text into a field', zh: '填写输入框' },
      examples: [
        {
          line: `svc browser fill --selector '#email' --text me@example.com`,
          text: { en: 'by CSS selector', zh: '使用 CSS 选择器' },
        },
        {
          line: 'svc browser fill --selector @e5 --text -',
          text: { en: 'by a mark of the snapshot, from standard input', zh: '使用快照标记，内容来自标准输入' },
        },
      ],
      options: [requiredSelectorOption, text, pageOption],
      load: async () => ({ run: (await import('./browser.ts')).fill }),
    },
    {
      name: 'click',
      summary: { en: 'click an element', zh: '点击元素' },
      examples: [{ line: 'svc browser click --selector @e7', text: { en: 'by a mark of the snapshot', zh: '使用快照标记' } }],
      options: [requiredSelectorOption, pageOption],
      load: async () => ({ run: (await import('./browser.ts')).click }),
    },
    {
      name: 'type',
      summary: { en: 'type text key by key', zh: '逐键输入文本' },
      examples: [{ line: 'svc browser type --selector input --text hello', text: { en: 'into a field', zh: '输入到输入框' } }],
      options: [text, selectorOption, pageOption],
      load: async () => ({ run: (await import('./browser.ts')).type }),
    },
    {
      name: 'press',
      summary: { en: 'press a key', zh: '按键' },
      examples: [{ line: 'svc browser press Enter', text: { en: 'Enter', zh: '回车' } }],
      arguments: [
        { name: 'key', summary: { en: 'Enter, Tab, ArrowDown, Control+a …', zh: 'Enter、Tab、ArrowDown、Control+a …' } },
      ],
      options: [selectorOption, pageOption],
      load: async () => ({ run: (await import('./browser.ts')).press }),
    },
    {
      name: 'select',
      summary: { en: 'choose in a list', zh: '选择列表项' },
      examples: [{ line: `svc browser select --selector '#plan' --value pro`, text: { en: 'one value', zh: '一个值' } }],
      options: [
        requiredSelectorOption,
        defineList('value <value>', { en: 'a value or label; may be repeated', zh: '值或标签；可重复' }),
        pageOption,
      ],
      load: async () => ({ run: (await import('./browser.ts')).select }),
    },
    {
      name: 'check',
      summary: { en: 'tick a box', zh: '勾选复选框' },
      examples: [{ line: `svc browser check --selector '#terms'`, text: { en: 'tick', zh: '勾选' } }],
      options: [requiredSelectorOption, defineFlag('off', { en: 'take the tick away', zh: '取消勾选' }), pageOption],
      load: async () => ({ run: (await import('./browser.ts')).check }),
    },
    {
      name: 'wait',
      summary: { en: 'wait for an element, a text, an address or a load state', zh: '等待元素、文本、网址或加载状态' },
      examples: [
        { line: 'svc browser wait --text "Thank you" --timeout 10', text: { en: 'at most ten seconds', zh: '最多十秒' } },
      ],
      options: [
        selectorOption,
        defineText('text <text>', { en: 'a text on the page', zh: '页面上的文本' }),
        defineText('url <url>', { en: 'the address, ** stands for anything', zh: '网址，** 表示任意内容' }),
        defineText(
          'load <state>',
          { en: 'a load state', zh: '加载状态' },
          { choices: ['load', 'domcontentloaded', 'networkidle'] },
        ),
        defineFlag('gone', { en: 'wait until element or text is gone', zh: '等待元素或文本消失' }),
        pageOption,
      ],
      load: async () => ({ run: (await import('./browser.ts')).wait }),
    },
    {
      name: 'get',
      summary: { en: 'print something of the page or of an element', zh: '输出页面或元素的信息' },
      examples: [
        { line: 'svc browser get title', text: { en: 'of the page', zh: '页面标题' } },
        { line: 'svc browser get attribute --selector a --name href', text: { en: 'of an element', zh: '元素属性' } },
      ],
      arguments: [
        {
          name: 'what',
          choices: ['url', 'title', 'text', 'html', 'value', 'attribute', 'count'],
          summary: { en: 'what to print', zh: '要输出的内容' },
        },
      ],
      options: [selectorOption, defineText('name <attribute>', { en: 'which attribute', zh: '属性名' }), pageOption],
      load: async () => ({ run: (await import('./browser.ts')).get }),
    },
    {
      name: 'eval',
      summary: { en: 'evaluate JavaScript in the page', zh: '在页面中执行 JavaScript' },
      examples: [{ line: 'svc browser eval "document.links.length"', text: { en: 'prints the value', zh: '输出结果' } }],
      arguments: [{ name: 'expression', summary: { en: 'an expression; - is standard input', zh: '表达式；- 表示标准输入' } }],
      options: [pageOption],
      load: async () => ({ run: (await import('./browser.ts')).evaluate }),
    },
    {
      name: 'screenshot',
      summary: { en: 'a picture of the page', zh: '页面截图' },
      examples: [{ line: 'svc browser screenshot page.png --full-page', text: { en: 'into a file', zh: '保存到文件' } }],
      arguments: [
        { name: 'file', optional: true, summary: { en: 'a PNG file; default: one of its own', zh: 'PNG 文件；默认自动命名' } },
      ],
      options: [defineFlag('full-page', { en: 'also what is below', zh: '包含下方内容' }), pageOption],
      load: async () => ({ run: (await import('./browser.ts')).screenshot }),
    },
    {
      name: 'open',
      summary: { en: 'open another page', zh: '打开新页面' },
      examples: [{ line: 'svc browser open https://example.com', text: { en: 'beside the others', zh: '新增一个页面' } }],
      arguments: [{ name: 'url', optional: true, summary: { en: 'its address', zh: '网址' } }],
      options: [workspaceOption],
      load: async () => ({ run: (await import('./browser.ts')).open }),
    },
    {
      name: 'list',
      aliases: ['ls'],
      summary: { en: 'list the pages', zh: '列出页面' },
      examples: [{ line: 'svc browser list', text: { en: 'of all workspaces', zh: '所有工作区' } }],
      load: async () => ({ run: (await import('./browser.ts')).list }),
    },
    {
      name: 'close',
      summary: { en: 'close a page', zh: '关闭页面' },
      examples: [{ line: 'svc browser close', text: { en: 'the newest of this workspace', zh: '当前工作区最新的页面' } }],
      arguments: [pageArgument],
      load: async () => ({ run: (await import('./browser.ts')).close }),
    },
    createNavigationCommand('back', 'go back', '后退'),
    createNavigationCommand('forward', 'go forward', '前进'),
    createNavigationCommand('reload', 'load again', '重新加载'),
    {
      name: 'focus',
      summary: { en: "bring the page's workspace to the front", zh: '切换到页面所在的工作区' },
      examples: [{ line: 'svc browser focus', text: { en: 'of the newest page', zh: '最新页面' } }],
      arguments: [pageArgument],
      load: async () => ({ run: (await import('./browser.ts')).focus }),
    },
  ],
}

function createNavigationCommand(name: 'back' | 'forward' | 'reload', en: string, zh: string): Command {
  return {
    name,
    summary: { en, zh },
    examples: [{ line: `svc browser ${name}`, text: { en, zh } }],
    options: [pageOption, waitOption],
    load: async () => ({ run: (await import('./browser.ts'))[name] }),
  }
}
