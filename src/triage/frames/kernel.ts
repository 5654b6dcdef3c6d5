/**
 * Reads crash reports of Linux and BSD kernels. Only the first report in a log counts, because later ones are
 * often its consequence. A report is identified by one function: the one that crashed or, for a hang, the one
 * that waits.
 */
import type { FoundTrace, Frame, TraceReader } from "./frame.ts";

export const KERNEL: TraceReader = {
  language: "kernel",
  hint: /\+0x[\da-f]+\/0x[\da-f]+|\) at \w[\w:.]*\+0x|^(?:<\d>)?\[ *\d+\.\d{3,6}\]/m,
  read,
};

/** Log prefixes: `[ 12.345678][ T123] `, `<4>`, and dates written by loggers. */
const PREFIX =
  /^(?:<\d{1,2}>|\*\* \d+ printk messages dropped \*\* )?(?:\[ {0,8}\d{1,8}\.\d{1,9}\](?:\[ {0,8}[A-Z]\d{1,8}\])? ?|\d{4}\/\d\d\/\d\d \d\d:\d\d:\d\d ){1,3}/;
const REPORT_LINES_MAX = 400;

function read(all: readonly string[]): FoundTrace | undefined {
  const lines = all.map((line) => line.replace(PREFIX, ""));
  const start = lines.findIndex(isReport);
  if (start < 0) return undefined;
  const report = lines.slice(start, start + REPORT_LINES_MAX);
  const { headline, isHang } = kindOfReport(report);
  return { headline, frames: framesOf(report, isHang), endsAt: all.length, framesMax: 1, onlyInApp: true };
}

const CALL = /^\s*(?:\[<[\da-f]{1,16}>\] ?)?([A-Za-z_][\w.$]{1,100})\+0x[\da-f]{1,8}\/0x[\da-f]{1,8}/;
/** ARM: `[<8195d3d8>] (dump_stack) from [<8195d4d4>] (show_stack+0x18/0x1c)`, or without the addresses. */
const ARM_CALL =
  /^\s*(?:\[<[\da-f]{1,16}>\] )?\(?([A-Za-z_][\w.$]{1,100})(?:\+0x[\da-f]{1,8}\/0x[\da-f]{1,8})?\)? from (?:\[<|[A-Za-z_][\w.$]{1,100}\+0x)/;
const INLINED = /^\s*([A-Za-z_][\w.]{1,100}) [\w/.-]{1,200}\.[chSs]:\d+(?: \[inline\])?$/;
const BSD_CALL = /^([A-Za-z_][\w.]{1,100})\(.{0,300}\) at (?:\w{1,20}:)?[\w.]{1,100}\+0x/;
/** The line with the instruction pointer, which is the innermost call. */
const INSTRUCTION =
  /^\s*(?:RIP: 0010|RIP: e030|EIP|IP|PC is at|pc|NIP|epc|ra)\s*:?\s*(?:\[<[\da-f]{1,16}>\] ?){0,2}(?:[\da-f]{4}:)?(?:\[<[\da-f]{1,16}>\]\s*){0,2}([A-Za-z_][\w.$]{1,100})\+0x/;
const HEAD_CALL =
  /(?: in | at | at: (?:\[<[\da-f]{1,16}>\]\s{1,8})?)([A-Za-z_][\w.$]{1,100})\+0x[\da-f]{1,8}\/0x/;

function framesOf(report: readonly string[], isHang: boolean): readonly Frame[] {
  const frames: Frame[] = [];
  const add = (name: string | undefined) => {
    if (name === undefined) return;
    frames.push({ function: functionName(name), inApp: mayBeCause(name) && mayBeCause(functionName(name)) });
  };
  let isInterrupt = false;
  for (const [index, line] of report.entries()) {
    if (index > 0 && isOtherReport(line, frames)) break;
    if (isHang && line.includes("<IRQ>")) isInterrupt = true; // frames of the timer interrupt that detected the hang
    if (/<\/IRQ>|<EOI>/.test(line)) isInterrupt = false;
    if (isInterrupt) continue;
    const text = line.replace(/^\s*<\/?[A-Z]{3,4}>\s*/, "").replace(PREFIX, "");
    add(
      (INSTRUCTION.exec(text) ??
        ARM_CALL.exec(text) ??
        CALL.exec(text) ??
        INLINED.exec(text) ??
        BSD_CALL.exec(text) ??
        (index < 8 ? HEAD_CALL.exec(text) : null))?.[1],
    );
  }
  return frames;
}

/** A fault of another processor, whose report is printed in the middle of this one. */
const FAULT =
  /[Uu]nable to handle kernel|[Uu]nable to handle page fault|general protection fault|\bdivide error|BUG: K[AMC]SAN/;

/** Whether the line begins another report. Until a possible cause has been printed, only a fault does. */
function isOtherReport(line: string, frames: readonly Frame[]): boolean {
  if (!isReport(line)) return false;
  return frames.some((frame) => frame.inApp) || FAULT.test(line);
}

const REPORT =
  /\bBUG[: ]|\bWARNING:|\bkernel BUG at|Kernel panic|KASAN:|KMSAN:|KCSAN:|KFENCE:|UBSAN:|UBSan:|UndefinedBehaviorSanitizer|general protection fault|\bdivide error|[Dd]ouble fault|stack segment|invalid opcode|Internal error:|Unhandled fault|Alignment trap|[Uu]nable to handle|INFO: task .{1,60} blocked|detected stall|self-detected|INFO: trying to register|INFO: possible|suspicious RCU|inconsistent lock state|bad unlock balance|held lock freed|still has locks|lock held when|^\s*panic(?:: |\[| \()|Fatal trap|uvm_fault|protection_fault|ASSERT FAILED|unreferenced object|witness:|lock order reversal|data race|kernel stack overflow|VFS: |unregister_netdevice|stack-protector|Freed in /;
/** Lines that contain a keyword of a report but do not start one. */
const IN_PASSING = /panic_on_warn|Not tainted|Boot_DEBUG|drop_monitor|no WARNING|lockdep is turned off/;

function isReport(line: string): boolean {
  return REPORT.test(line) && !IN_PASSING.test(line);
}

/** Reports whose first line contains details besides the kind. The first match wins. */
const KINDS: readonly (readonly [form: RegExp, kind: string])[] = [
  [/INFO: task .{1,80} blocked for more than/, "INFO: task hung"],
  [/soft lockup/, "BUG: soft lockup"],
  [/workqueue lockup/, "BUG: workqueue lockup"],
  [/(?:self-)?detected stall|detected expedited stalls/, "INFO: rcu detected stall"],
  [/(?:KASAN|KMSAN|KCSAN|KFENCE): ([\w -]{3,60}?)(?: in | at | on |$)/, "sanitizer"],
  [/UBS[Aa][Nn]: [Uu]ndefined.?[Bb]ehaviou?r/, "UBSAN: undefined behaviour"],
  [/^.{0,20}kernel BUG at/, "kernel BUG"],
  [
    /(?:unable to handle|BUG:) (?:kernel )?NULL pointer/i,
    "BUG: unable to handle kernel NULL pointer dereference",
  ],
  [
    /unable to handle (?:kernel )?(?:paging request|page fault)/i,
    "BUG: unable to handle kernel paging request",
  ],
  [/general protection fault/, "general protection fault"],
  [/double fault/i, "double fault"],
  [/divide error/, "divide error"],
  [/circular locking|possible recursive locking|irq lock inversion|possible deadlock/, "possible deadlock"],
  [/WARNING: CPU: \d+ PID: \d+ at /, "WARNING"],
  [/bad unlock balance/, "BUG: bad unlock balance"],
  [/suspicious RCU usage/, "WARNING: suspicious RCU usage"],
  [/unreferenced object/, "memory leak"],
];
const HANG = /hung|lockup|stall/;
/** The kind of access, such as `Read of size 8`: reading and writing freed memory are different bugs. */
const ACCESS = /^\s*(Read|Write) (?:of size|at addr)|\b(read|write) of size/i;
const ACCESS_LINES_MAX = 30;

function kindOfReport(report: readonly string[]): {
  readonly headline: string;
  readonly isHang: boolean;
} {
  const line = report[0] ?? "";
  for (const [form, kind] of KINDS) {
    const found = form.exec(line);
    if (!found) continue;
    const headline = kind === "sanitizer" ? sanitizerKind(found, report) : kind;
    return { headline, isHang: HANG.test(kind) };
  }
  return { headline: tidy(line.slice(Math.max(0, line.search(REPORT)))), isHang: false };
}

function sanitizerKind(found: RegExpExecArray, report: readonly string[]): string {
  const access = report
    .slice(0, ACCESS_LINES_MAX)
    .map((line) => ACCESS.exec(line))
    .find((one) => one !== null);
  const how = access?.[1] ?? access?.[2];
  const kind = found[0]
    .replace(/ (?:in|at|on) $/, "")
    .replace(/double-free(?: or invalid-free)?/, "invalid-free"); // kernels renamed this report
  return how === undefined ? kind : `${kind} ${how.toLowerCase()}`;
}

/** Removes function offsets, counters and other details of a single run. */
function tidy(line: string): string {
  return line
    .replace(/\s*\[#\d+\].*$/, "")
    .replace(/\S+\+0x[\da-f]+\/0x[\da-f]+/g, "")
    .replace(/\s+\]$/, "") // `[ BUG: … ]`
    .trim();
}

function beginningWith(...groups: readonly string[]): RegExp {
  return new RegExp(`^_*(?:${groups.join(" ").trim().split(/\s+/).join("|")})`);
}

/*
 * Functions at the top of a report that are not its cause: they print the report, check locks or memory, or
 * are on every path into sleep, interrupts or the kernel.
 */

/** Functions that print the crash report or stop the machine. */
const REPORTING = `dump_stack dump_backtrace dump_cpu dump_header show_ print_ printk vprintk panic vpanic warn_ warn\\b warn$ report_
  bust_spinlocks do_error_trap do_trap do_invalid_op invalid_op handle_bug fixup_bug exc_ asm_ die do_exit_oops oops_ kasan
  asan_ check_memory_region describe_ kmsan msan_ kcsan ubsan_ handle_overflow val_to_string sanitizer_cov write_comp_data
  save_stack set_track stack_trace arch_stack_walk walk_stackframe unwind_ return_address fortify_panic stack_chk_fail
  slowpath_warn refcount_warn_saturate refcount_ debug_object debug_check debug_print object_ kmemleak should_fail fail_dump db_ kdb_
  assfail kassert trap calltrap alltraps Xsyscall Xtrap breakpoint stack_dump stack_segment secondary_startup brk_handler
  call_break_hook bug_handler do_debug_exception do_mem_abort do_translation_fault el1 el0 ret_to_user do_sync do_undef
  do_general do_\\w*fault bad_area no_context page_fault_oops page_fault notify_die
  early_ nmi_ arch_trigger rcu_dump rcu_check rcu_sched_clock rcu_pending check_cpu_stall watchdog softlockup lockup_
  hung_task sched_show_task dump_task rcu_gp do_kernel_fault kernel_text_address is_ftrace x86_indirect_thunk bad_mode`;
const LOCK_CHECKING = `lock_acquire lock_release lock_is_held lock_downgrade lock_sock_nested lockdep_ register_lock_class look_up_lock_class assign_lock_key
  validate_chain check_prev check_noncircular check_deadlock check_usage mark_lock mark_held mark_usage add_lock_to_list
  prev_add check_wait_context reacquire lock_set trace_hardirqs trace_softirqs might_sleep might_fault
  might_resched might_lock valid_state check_preemption debug_mutex debug_lockdep debug_smp`;
/** Functions for locks, atomic counters and lists. The cause is their caller. */
const PRIMITIVES = `raw_spin raw_read raw_write spin_lock spin_unlock spin_trylock do_raw_ queued_ native_queued pv_queued read_lock write_lock read_unlock
  write_unlock mutex_lock mutex_unlock mutex_trylock mutex_optimistic mutex_spin mutex_remove_waiter rwsem_ down_read down_write up_read up_write down\\b percpu_down rt_mutex seqcount
  atomic_ arch_atomic test_bit set_bit constant_test_bit instrument_ list_del list_add list_empty hlist_ plist_ kref_ kobject_put
  memcpy memset memmove memcmp memchr strlen strlcpy strscpy strcmp strn?cpy strncmp strchr string\\b copy_user copy_to_user
  copy_from_user copy_to_iter copy_from_iter copyin copyout csum_ get_user put_user raw_copy clear_user find_next_bit kfree kvfree kmalloc kzalloc vmalloc kmem_cache
  slab_ cache_alloc cache_free alloc_pages alloc_page alloc_frozen rb_ free_pages free_page get_page_from qlist_ quarantine mempool_
  folio_lock folio_unlock lock_page unlock_page flush_work cancel_work cancel_delayed
  rcu_read rcu_is_watching rcu_lockdep INIT_LIST_HEAD init_timer del_timer try_to_del lock_timer timer_`;
/** Functions of the kernel's own library: strings, text, checksums, containers, memory, buffers. The cause is their caller. */
const LIBRARY = `k[mrcz]?alloc kv[mcz]?alloc vzalloc vfree vunmap krealloc kstrdup kstrndup kmemdup memdup_ kasprintf kvasprintf
  strn?len strn?cat strr?chr strstr strsep strspn strcspn strncasecmp strcasecmp vsnprintf vscnprintf snprintf scnprintf sprintf sscanf format_decode number\\b read_word_at_a_time read_once_word
  crc\\d+ crc32c xas_ xa_ radix_tree_ idr_ ida_ rhashtable_ klist_ llist_ kfifo_ bitmap_ interval_tree assoc_array
  skb_panic skb_over_panic skb_under_panic skb_put skb_push skb_pull skb_trim alloc_skb usercopy_ check_heap_object check_object_size
  mod_timer add_timer insert_work finish_wait complete\\b add_uevent_var kobject_add kobject_get kobject_del kobject_release phys_addr
  simple_copy copy_page_to_iter copy_page_from_iter create_object bad_area do_bad exiting_irq`;
/** Functions on every path into sleep, interrupts, timers, threads or system calls. */
const ENTRY = `schedule context_switch switch_to preempt_ io_schedule wait_for do_wait wait_on_bit bit_wait wait_rcu_gp wait_ out_of_line_wait finish_task prepare_to_wait
  ret_from kthread kernel_thread worker_thread process_one_work process_scheduled smp_apic apic_timer local_apic sysvec_ smpboot smp_reschedule
  irq_ do_IRQ common_interrupt handle_irq handle_percpu handle_domain handle_edge generic_handle_irq gic_handle call_on_irq call_on_stack do_softirq
  run_timer call_timer expire_timers tick_ hrtimer_ update_process_times arch_timer entry_ do_syscall do_fast_syscall do_int80
  system_call sysenter syscall_ x64_sys_call invoke_syscall el0_svc native_safe_halt default_idle cpu_idle cpuidle cpu_startup do_idle
  start_secondary start_kernel rest_init x86_64_start run_ksoftirqd default_wake wake_up try_to_wake ttwu_ amd64_syscall syscall\\b mi_syscall
  svm_ task_work_run exit_to_user prepare_exit_to notifier_call raw_notifier blocking_notifier inlined caller`;

const NEVER_THE_CAUSE = beginningWith(REPORTING, LOCK_CHECKING, PRIMITIVES, LIBRARY, ENTRY);

function mayBeCause(name: string): boolean {
  return !NEVER_THE_CAUSE.test(name);
}

/** Compiler suffixes, and prefixes of system calls, which differ by architecture. */
const MADE_UP = /(?:\.(?:isra|part|cold|constprop|llvm)(?:[.\d]*\d)?|\.cold)+$|\.\d+$/;
const CALL_ENTRY =
  /^(?:__(?:x64|ia32|arm64|se|do|s390x|riscv)_(?:compat_)?(?=sys_)|(?:SyS|SYSC|compat_SyS|C_SYSC|ksys|__sys)_?(?=[a-z]))/;
/** Functions that are variants of the same wait or call, and their common name. */
const FAMILIES: readonly (readonly [RegExp, string])[] = [
  [/^_*synchronize_(?:rcu|sched|net|srcu)\w*$/, "synchronize_rcu"],
  [/^_*(?:smp_call_function\w*|on_each_cpu\w*|generic_exec_single|csd_lock\w*)$/, "smp_call_function"],
];

function functionName(name: string): string {
  const plain = name.replace(MADE_UP, "").replace(CALL_ENTRY, "");
  return FAMILIES.find(([family]) => family.test(plain))?.[1] ?? plain;
}
