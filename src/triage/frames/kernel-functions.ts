/**
 * Functions of operating system kernels that stand on top of a report without being its cause: what printed the report,
 * what checks locks and memory, what every caller goes through on the way to sleep, into an interrupt or into the kernel.
 */

function beginningWith(...groups: readonly string[]): RegExp {
  return new RegExp(`^_*(?:${groups.join(" ").trim().split(/\s+/).join("|")})`);
}

/** What printed the report, or was told to stop the machine. */
const REPORTING = `dump_stack dump_backtrace dump_cpu dump_header show_ print_ printk vprintk panic vpanic warn_ warn\\b warn$ report_
  bust_spinlocks do_error_trap do_trap do_invalid_op invalid_op handle_bug fixup_bug exc_ asm_ die do_exit_oops oops_ kasan
  asan_ check_memory_region describe_ kmsan msan_ kcsan ubsan_ handle_overflow val_to_string sanitizer_cov write_comp_data
  save_stack set_track stack_trace arch_stack_walk walk_stackframe unwind_ return_address fortify_panic stack_chk_fail
  slowpath_warn refcount_warn_saturate refcount_ debug_object debug_check debug_print object_ kmemleak should_fail fail_dump db_ kdb_
  assfail kassert trap calltrap alltraps Xsyscall Xtrap breakpoint stack_dump stack_segment secondary_startup brk_handler
  call_break_hook bug_handler do_debug_exception do_mem_abort do_translation_fault el1 el0 ret_to_user do_sync do_undef
  do_general do_page_fault do_kern_addr_fault do_user_addr_fault bad_area no_context page_fault_oops page_fault notify_die
  early_ nmi_ arch_trigger rcu_dump rcu_check rcu_sched_clock rcu_pending check_cpu_stall watchdog softlockup lockup_
  hung_task sched_show_task dump_task rcu_gp do_kernel_fault kernel_text_address is_ftrace x86_indirect_thunk bad_mode`;
/** What keeps account of locks. */
const LOCK_CHECKING = `lock_acquire lock_release lock_is_held lock_downgrade lock_sock_nested lockdep_ register_lock_class look_up_lock_class assign_lock_key
  validate_chain check_prev check_noncircular check_deadlock check_usage mark_lock mark_held mark_usage add_lock_to_list
  prev_add check_wait_context reacquire lock_set trace_hardirqs trace_softirqs might_sleep might_fault
  might_resched might_lock valid_state check_preemption debug_mutex debug_lockdep debug_smp`;
/** Locks, atomic counters and lists: who took or followed them is the cause. */
const PRIMITIVES = `raw_spin raw_read raw_write spin_lock spin_unlock spin_trylock do_raw_ queued_ native_queued pv_queued read_lock write_lock read_unlock
  write_unlock mutex_lock mutex_unlock mutex_trylock mutex_optimistic mutex_spin mutex_remove_waiter rwsem_ down_read down_write up_read up_write down\\b percpu_down rt_mutex seqcount
  atomic_ arch_atomic test_bit set_bit constant_test_bit instrument_ list_del list_add list_empty hlist_ plist_ kref_ kobject_put
  memcpy memset memmove memcmp memchr strlen strlcpy strscpy strcmp strn?cpy strncmp strchr string\\b copy_user copy_to_user
  copy_from_user copy_to_iter copy_from_iter copyin copyout csum_ get_user put_user raw_copy clear_user find_next_bit kfree kvfree kmalloc kzalloc vmalloc kmem_cache
  slab_ cache_alloc cache_free alloc_pages alloc_page alloc_frozen rb_ free_pages free_page get_page_from qlist_ quarantine mempool_
  rcu_read rcu_is_watching rcu_lockdep INIT_LIST_HEAD init_timer del_timer try_to_del lock_timer timer_`;
/** The way to sleep, into interrupts and timers, into a thread, and into the kernel. */
const ENTRY = `schedule context_switch switch_to preempt_ io_schedule wait_for do_wait wait_on_bit bit_wait wait_rcu_gp wait_ out_of_line_wait finish_task prepare_to_wait
  ret_from kthread kernel_thread worker_thread process_one_work process_scheduled smp_apic apic_timer local_apic sysvec_ smpboot smp_reschedule
  irq_ do_IRQ common_interrupt handle_irq handle_percpu handle_domain handle_edge generic_handle_irq gic_handle call_on_irq call_on_stack do_softirq
  run_timer call_timer expire_timers tick_ hrtimer_ update_process_times arch_timer entry_ do_syscall do_fast_syscall do_int80
  system_call sysenter syscall_ x64_sys_call invoke_syscall el0_svc native_safe_halt default_idle cpu_idle cpuidle cpu_startup do_idle
  start_secondary start_kernel rest_init x86_64_start run_ksoftirqd default_wake wake_up try_to_wake ttwu_ amd64_syscall syscall\\b mi_syscall
  svm_ task_work_run exit_to_user prepare_exit_to notifier_call raw_notifier blocking_notifier inlined caller`;

const NEVER_THE_CAUSE = beginningWith(REPORTING, LOCK_CHECKING, PRIMITIVES, ENTRY);

/** Whether a function may be what went wrong. */
export function mayBeCause(name: string): boolean {
  return !NEVER_THE_CAUSE.test(name);
}

/** Names that the compiler made, and entries of the same call for other machines. */
const MADE_UP = /(?:\.(?:isra|part|cold|constprop|llvm)(?:[.\d]*\d)?|\.cold)+$|\.\d+$/;
const CALL_ENTRY =
  /^(?:__(?:x64|ia32|arm64|se|do|s390x|riscv)_(?:compat_)?(?=sys_)|(?:SyS|SYSC|compat_SyS|C_SYSC|ksys|__sys)_?(?=[a-z]))/;
/** The same wait or call in its variants. */
const FAMILIES: readonly (readonly [RegExp, string])[] = [
  [/^_*synchronize_(?:rcu|sched|net|srcu)\w*$/, "synchronize_rcu"],
  [/^_*(?:smp_call_function\w*|on_each_cpu\w*|generic_exec_single|csd_lock\w*)$/, "smp_call_function"],
];

/** One name for what is one function. */
export function functionName(name: string): string {
  const plain = name.replace(MADE_UP, "").replace(CALL_ENTRY, "");
  return FAMILIES.find(([family]) => family.test(plain))?.[1] ?? plain;
}
