/** The entries that describe a program itself, `completion` and `man`, without what runs them. */
import { defineFlag } from './define-option.ts'
import type { Argument, Example, Option } from './command.ts'

/** The entry of `<program> completion <shell>`. */
export function createCompletionEntry(program: string) {
  return {
    name: 'completion',
    summary: { en: "print a shell's completion script", zh: '输出 shell 补全脚本' },
    examples: [
      { line: `source <(${program} completion bash)`, text: { en: 'bash, also in ~/.bashrc', zh: 'bash，可写入 ~/.bashrc' } },
      { line: `source <(${program} completion zsh)`, text: { en: 'zsh, after compinit', zh: 'zsh，在 compinit 之后' } },
      { line: `${program} completion fish | source`, text: { en: 'fish', zh: 'fish' } },
    ] satisfies [Example, ...Example[]],
    arguments: [
      { name: 'shell', choices: ['bash', 'zsh', 'fish'], summary: { en: 'for which shell', zh: 'shell 类型' } },
    ] satisfies [Argument],
  }
}

/** The entry of `<program> man`. */
export function createManEntry(program: string) {
  return {
    name: 'man',
    summary: { en: 'print the manual page', zh: '输出手册页' },
    examples: [{ line: `${program} man | man -l -`, text: { en: 'read it', zh: '阅读手册' } }] satisfies [Example, ...Example[]],
    options: [
      defineFlag('markdown', { en: 'the table of commands in Markdown instead', zh: '改为输出 Markdown 命令表' }),
    ] satisfies [Option],
  }
}
