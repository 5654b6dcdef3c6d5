import { describe, expect, test } from "vitest";
import { patternOf, traceOf } from "./trace-text.ts";

/** Lines as a kernel prints them. */
const log = (...lines: readonly string[]) =>
  lines.map((line, at) => `[  ${12 + at}.345678][  T99] ${line}\n`).join("");

describe("a kernel's report", () => {
  test("a bad access is identified by its kind and by the function that did it, not by what checked or printed it", () => {
    const text = log(
      "==================================================================",
      "BUG: KASAN: slab-use-after-free in _raw_spin_lock+0x12/0x40",
      "Write of size 3 at addr ffff777712345678 by task cart/7",
      "Call Trace:",
      " <TASK>",
      " dump_stack_lvl+0x71/0x93",
      " ? lock_acquire+0x10/0x20",
      " print_report+0x3a/0x127",
      " _raw_spin_lock+0x12/0x40",
      " shop_cart_put.isra.0+0x44/0x90",
      " shop_release+0x1a/0x30",
    );
    expect(patternOf(text)).toBe("KASAN: slab-use-after-free write (in shop_cart_put)");
    expect(traceOf(text).skipped).toContain("_raw_spin_lock");
  });

  test("frames of 32-bit ARM are read", () => {
    const text = log(
      "WARNING: CPU: 1 PID: 46 at lib/refcount.c:28 refcount_warn_saturate+0x13c/0x174",
      "[<8195d3d8>] (dump_backtrace) from [<8195d4d4>] (show_stack+0x18/0x1c)",
      " r7:00000000 r6:826228c4 r5:00000000 r4:8200cac0",
      "[<80242440>] (warn_slowpath_fmt) from [<80242624>] (shop_cart_put+0x1e8/0x1f4)",
      "[<80242640>] (shop_cart_put) from [<80242700>] (shop_release+0x1e8/0x1f4)",
    );
    expect(patternOf(text)).toBe("WARNING (in shop_cart_put)");
  });

  test("a hang is identified by what it waits for", () => {
    const hung = (task: string, seconds: number, caller: string) =>
      log(
        `INFO: task ${task} blocked for more than ${seconds} seconds.`,
        "      Not tainted 6.1.0 #1",
        "Call Trace:",
        " __schedule+0x311/0x7f2",
        " schedule+0x42/0x1b7",
        " mutex_lock_nested+0x2a/0x61",
        " rtnl_lock+0x33/0x59",
        ` ${caller}+0x51/0x99`,
      );
    expect(patternOf(hung("worker:17", 61, "shop_open"))).toBe("INFO: task hung (in rtnl_lock)");
    expect(patternOf(hung("other:2", 120, "shop_close"))).toBe("INFO: task hung (in rtnl_lock)");
  });

  test("in a stall, the interrupt that detected it does not count", () => {
    const text = log(
      "rcu: INFO: rcu_sched self-detected stall on CPU",
      "Call Trace:",
      " <IRQ>",
      " shop_timer+0x1/0x2",
      " </IRQ>",
      "RIP: 0010:smp_call_function_single+0x1c7/0x311",
      " shop_flush+0x10/0x20",
    );
    expect(patternOf(text)).toBe("INFO: rcu detected stall (in smp_call_function)");
  });

  test("the first report counts, and not its consequences", () => {
    const text = log(
      "WARNING: CPU: 0 PID: 12 at mm/shop.c:31 shop_map+0x1/0x2",
      " shop_map+0x1/0x2",
      "Kernel panic - not syncing: panic_on_warn set ...",
      " panic+0x1/0x2",
    );
    expect(patternOf(text)).toBe("WARNING (in shop_map)");
  });

  test("a report ends where the fault of another processor is printed before its own frames", () => {
    const text = log(
      "WARNING: suspicious RCU usage",
      "6.1.0 #1 Not tainted",
      "BUG: unable to handle kernel NULL pointer dereference at 0000000000000074",
      "RIP: 0010:shop_cart_put+0xb2/0x250",
    );
    expect(patternOf(text)).toBe("WARNING: suspicious RCU usage");
  });

  test("functions that only report, check locks or belong to the kernel's library never identify it", () => {
    const access = ["BUG: KASAN: use-after-free in strnlen+0x1/0x2", "Call Trace:"];
    const library = [" dump_stack+0x1/0x2", " strnlen+0x1/0x2", " kvmalloc_node+0x1/0x2"];
    expect(patternOf(log(...access, ...library))).toBe("KASAN: use-after-free");
    expect(patternOf(log(...access, ...library, " shop_open+0x1/0x2"))).toBe(
      "KASAN: use-after-free (in shop_open)",
    );
  });

  test("a BSD's panic is read", () => {
    const text =
      "panic: kmem: bad size 17\ndb_enter() at db_enter+0x29\npanic(ffff) at panic+0x77\nshop_alloc(1,2) at shop_alloc+0x3d\n";
    expect(patternOf(text)).toBe("panic: kmem: bad size <num> (in shop_alloc)");
  });

  test("a report without frames is identified by its first line", () => {
    expect(
      patternOf(
        log("eth0: link is up", "BUG: unable to handle page fault for address: dead00001234", "oops"),
      ),
    ).toBe("BUG: unable to handle kernel paging request");
  });
});
