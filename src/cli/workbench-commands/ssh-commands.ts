/** The table entries of `svc ssh` and `svc files`; `ssh.ts`, `files.ts` and `explore.ts` implement them. */
import { defineFlag, defineList, defineNumber, defineText } from '../../command-table/define-option.ts'
import type { Argument, CommandGroup } from '../command.ts'

const ssh: Argument = { name: 'ssh', summary: { en: 'id or number of svc ssh list', zh: 'svc ssh list 中的 ID 或编号' } }
const place: Argument = { name: 'place', summary: { en: '<ssh-id>:<path>', zh: '<ssh-id>:<路径>' } }

export const sshGroup: CommandGroup = {
  name: 'ssh',
  summary: { en: 'log in to another machine, in a workspace of its own', zh: '在独立的工作区中登录另一台机器' },
  description: {
    en: 'Uses your ssh and its configuration: host names, keys, agents and jump hosts. ssh asks its questions in its workspace. Files are then transferred over the same connection.',
    zh: '使用你的 ssh 及其配置：主机别名、密钥、代理和跳板机。ssh 的提问显示在其工作区中。连接后可通过同一连接访问远程文件。',
  },
  examples: [
    { line: 'svc ssh me@example.org', text: { en: 'log in', zh: '登录' } },
    { line: 'svc ssh list', text: { en: 'list the connections', zh: '列出连接' } },
  ],
  defaultCommand: 'connect',
  commands: [
    {
      name: 'connect',
      summary: { en: 'log in', zh: '登录' },
      examples: [
        {
          line: 'svc ssh me@example.org',
          text: { en: 'in the background; svc attach shows it', zh: '在后台进行；用 svc attach 查看' },
        },
        {
          line: 'svc ssh build --wait 30',
          text: { en: 'a name of your ssh configuration, and wait for it', zh: '使用 ssh 配置中的名称并等待连接' },
        },
      ],
      arguments: [
        {
          name: 'destination',
          summary: { en: '<user>@<host>, or a name of your ssh configuration', zh: '<user>@<host>，或 ssh 配置中的名称' },
        },
      ],
      options: [
        defineText('title <text>', { en: "the workspace's title", zh: '工作区标题' }),
        defineNumber('port <port>', { en: 'port', zh: '端口' }, { short: 'p' }),
        defineText('identity <file>', { en: 'a key file', zh: '密钥文件' }, { short: 'i' }),
        defineList('option <Key=value>', { en: 'an option for ssh', zh: 'ssh 选项' }, { short: 'o' }),
        defineNumber(
          'wait <seconds>',
          { en: 'how long to wait for the login', zh: '等待登录的秒数' },
          { defaultText: { en: '15 on a terminal, else 0', zh: '终端中为 15，否则为 0' } },
        ),
        defineFlag('no-explorer', { en: 'do not offer the file explorer', zh: '不提示文件浏览器' }),
      ],
      load: async () => ({ run: (await import('./ssh.ts')).connect }),
    },
    {
      name: 'list',
      aliases: ['ls'],
      summary: { en: 'list the connections', zh: '列出连接' },
      examples: [{ line: 'svc ssh list', text: { en: 'and their states', zh: '及其状态' } }],
      load: async () => ({ run: (await import('./ssh.ts')).list }),
    },
    {
      name: 'status',
      summary: { en: 'the state of one', zh: '查看某个连接的状态' },
      examples: [{ line: 'svc ssh status 1', text: { en: 'of the first', zh: '第一个连接' } }],
      arguments: [ssh],
      load: async () => ({ run: (await import('./ssh.ts')).status }),
    },
    {
      name: 'disconnect',
      summary: { en: 'end a connection', zh: '断开连接' },
      examples: [{ line: 'svc ssh disconnect 1', text: { en: 'the first', zh: '第一个连接' } }],
      arguments: [ssh],
      load: async () => ({ run: (await import('./ssh.ts')).disconnect }),
    },
    {
      name: 'reconnect',
      summary: { en: 'log in again, in the same pane', zh: '在同一窗格中重新登录' },
      examples: [{ line: 'svc ssh reconnect 1', text: { en: 'the first', zh: '第一个连接' } }],
      arguments: [ssh],
      load: async () => ({ run: (await import('./ssh.ts')).reconnect }),
    },
  ],
}

export const filesGroup: CommandGroup = {
  name: 'files',
  summary: { en: 'files of a machine connected by svc ssh', zh: '通过 svc ssh 连接的机器上的文件' },
  examples: [
    { line: 'svc files open 1', text: { en: 'the explorer, in a pane of its own', zh: '在独立窗格中打开文件浏览器' } },
    { line: 'svc files ls 1:/etc', text: { en: 'list a directory', zh: '列出目录' } },
    { line: 'svc files get 1:notes.txt', text: { en: 'download a file', zh: '下载文件' } },
  ],
  commands: [
    {
      name: 'ls',
      aliases: ['list'],
      summary: { en: 'list a directory', zh: '列出目录' },
      examples: [{ line: 'svc files ls 1:', text: { en: 'where the connection begins', zh: '连接的起始目录' } }],
      arguments: [place],
      load: async () => ({ run: (await import('./files.ts')).list }),
    },
    {
      name: 'get',
      summary: { en: 'download a file', zh: '下载文件' },
      examples: [{ line: 'svc files get 1:logs/today.txt ./today.txt', text: { en: 'under another name', zh: '另存为' } }],
      arguments: [place, { name: 'file', optional: true, summary: { en: 'where to', zh: '保存位置' } }],
      load: async () => ({ run: (await import('./files.ts')).get }),
    },
    {
      name: 'put',
      summary: { en: 'upload a file', zh: '上传文件' },
      examples: [{ line: 'svc files put report.pdf 1:reports/', text: { en: 'into a directory', zh: '上传到目录' } }],
      arguments: [{ name: 'file', summary: { en: 'a file here', zh: '本地文件' } }, place],
      load: async () => ({ run: (await import('./files.ts')).put }),
    },
    {
      name: 'cat',
      summary: { en: 'print a file', zh: '输出文件内容' },
      examples: [{ line: 'svc files cat 1:/etc/os-release', text: { en: 'print', zh: '输出' } }],
      arguments: [place],
      load: async () => ({ run: (await import('./files.ts')).cat }),
    },
    {
      name: 'stat',
      summary: { en: 'size, mode and time of a file', zh: '文件的大小、权限和时间' },
      examples: [{ line: 'svc files stat 1:notes.txt', text: { en: 'one file', zh: '一个文件' } }],
      arguments: [place],
      load: async () => ({ run: (await import('./files.ts')).stat }),
    },
    {
      name: 'mkdir',
      summary: { en: 'make a directory', zh: '新建目录' },
      examples: [{ line: 'svc files mkdir 1:reports', text: { en: 'make', zh: '新建' } }],
      arguments: [place],
      load: async () => ({ run: (await import('./files.ts')).mkdir }),
    },
    {
      name: 'rm',
      summary: { en: 'remove a file or an empty directory', zh: '删除文件或空目录' },
      examples: [{ line: 'svc files rm 1:old.txt', text: { en: 'remove', zh: '删除' } }],
      arguments: [place],
      load: async () => ({ run: (await import('./files.ts')).remove }),
    },
    {
      name: 'mv',
      summary: { en: 'give a file another name', zh: '重命名文件' },
      examples: [{ line: 'svc files mv 1:draft.txt final.txt', text: { en: 'on the same machine', zh: '在同一台机器上' } }],
      arguments: [place, { name: 'to', summary: { en: 'a path there', zh: '该机器上的路径' } }],
      options: [defineFlag('replace', { en: 'replace an existing file', zh: '覆盖已有文件' })],
      load: async () => ({ run: (await import('./files.ts')).move }),
    },
    {
      name: 'open',
      summary: { en: 'the file explorer, in a new pane in the background', zh: '在后台的新窗格中打开文件浏览器' },
      examples: [
        {
          line: 'svc files open 1',
          text: { en: 'svc workspace focus brings it to the front', zh: '用 svc workspace focus 切换过去' },
        },
      ],
      arguments: [ssh],
      load: async () => ({ run: (await import('./files.ts')).open }),
    },
    {
      name: 'explore',
      summary: { en: 'the file explorer, in this terminal', zh: '在此终端中打开文件浏览器' },
      examples: [{ line: 'svc files explore 1:/var/log', text: { en: 'beginning there', zh: '从该目录开始' } }],
      arguments: [place],
      load: () => import('./remote-files/explore.ts'),
    },
  ],
}
