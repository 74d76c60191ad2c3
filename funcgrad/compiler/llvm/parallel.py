"""The code of the thread pool, as LLVM IR: how a job is published, taken part by part, awaited.

One word, the number of the job above the number of parts left, is what parts are taken from by
compare-and-swap, so a worker that comes late cannot touch another job.
"""

from collections.abc import Callable

from funcgrad.compiler.llvm import arrays, sequence, systems
from funcgrad.compiler.llvm.target import Target, architecture

PARTS_PER_THREAD = 4  # so that a thread which falls behind is helped by the others
MOST_THREADS = 1024
ASLEEP = -(1 << 31)  # added to the number of parts that run while the caller sleeps
GENERATION = "getelementptr (i8, ptr @word, i64 4)"  # the upper half, which sleepers watch
WAKES = 2  # how many sleepers the caller wakes, and each of them in turn


def text(target: Target, sleeping: str | None = None) -> str:
    """The module of the pool, with the functions that call programs and kernels."""
    pool = (STATE, drain(), PARALLEL, WORKER, CONTROL, processor(target))
    callers = (sequence.driver(), arrays.caller())
    return "".join((*pool, *callers)) + systems.threads(target, sleeping)


# What different threads write at the same time stands on cache lines of its own.
STATE = f"""
%Job = type {{ ptr, ptr, i64, i64, i64, i64 }}
@word = internal global i64 0, align 128
@pending = internal global i32 0, align 128
@sleepers = internal global i32 0, align 128
@busy = internal global i32 0, align 128
@job = internal global %Job zeroinitializer, align 128
@workers = internal global i32 0, align 128
@quit = internal global i32 0
@spins = internal global i64 0
@slots = internal global [{MOST_THREADS} x i64] zeroinitializer
"""

# The job: a kernel's address and arguments, the extent, the grain, how many grains that makes, and
# into how many parts they are divided.
FIELDS = ("kernel", "args", "extent", "grain", "grains", "parts")


def fields(access: Callable[[str, str], str]) -> str:
    """IR that does the same with each field of the job: `access(name, type)`."""
    return "".join(
        f"  %{name}_at = getelementptr %Job, ptr @job, i32 0, i32 {number}\n"
        f"  {access(name, 'ptr' if number < 2 else 'i64')} monotonic, align 8\n"
        for number, name in enumerate(FIELDS)
    )


def drain() -> str:
    """Take parts and run them until none is left; the last to finish wakes a sleeping caller.

    A job's fields may be of a later job when they are read; then the exchange fails.
    """
    return f"""
define internal void @drain() {{
  br label %look
look:
  %word = load atomic i64, ptr @word acquire, align 8
  %left = and i64 %word, 4294967295
  %none = icmp eq i64 %left, 0
  br i1 %none, label %done, label %take
take:
{fields(lambda name, kind: f"%{name} = load atomic {kind}, ptr %{name}_at")}
  %less = sub i64 %word, 1
  %swap = cmpxchg ptr @word, i64 %word, i64 %less acq_rel acquire
  %taken = extractvalue {{ i64, i1 }} %swap, 1
  br i1 %taken, label %run, label %look
run:
  %part = sub i64 %parts, %left
  %next = add i64 %part, 1
  %low = mul i64 %part, %grains
  %high = mul i64 %next, %grains
  %first = udiv i64 %low, %parts
  %last = udiv i64 %high, %parts
  %begin = mul i64 %first, %grain
  %bound = mul i64 %last, %grain
  %whole = icmp ult i64 %bound, %extent
  %end = select i1 %whole, i64 %bound, i64 %extent
  call void %kernel(ptr %args, i64 %begin, i64 %end)
  %before = atomicrmw sub ptr @pending, i32 1 acq_rel
  %awaited = icmp eq i32 %before, {ASLEEP + 1}
  br i1 %awaited, label %tell, label %look
tell:
  call void @wake(ptr @pending, i32 1)
  br label %look
done:
  ret void
}}
"""


PARALLEL = f"""
define void @fg_parallel(ptr %kernel, ptr %args, i64 %extent, i64 %grain) {{
  %some = icmp sgt i64 %extent, 0
  br i1 %some, label %divide, label %return
divide:
  %workers = load atomic i32, ptr @workers monotonic, align 4
  %alone = icmp eq i32 %workers, 0
  %ahead = add i64 %extent, %grain
  %up = sub i64 %ahead, 1
  %grains = udiv i64 %up, %grain
  %single = icmp ult i64 %grains, 2
  %undivided = or i1 %alone, %single
  br i1 %undivided, label %serial, label %claim
claim:
  %swap = cmpxchg ptr @busy, i32 0, i32 1 acquire monotonic
  %free = extractvalue {{ i32, i1 }} %swap, 1
  br i1 %free, label %share, label %serial
serial:
  call void %kernel(ptr %args, i64 0, i64 %extent)
  ret void
share:
  %threads = add i32 %workers, 1
  %wanted = mul i32 %threads, {PARTS_PER_THREAD}
  %wanted64 = zext i32 %wanted to i64
  %few = icmp ult i64 %grains, %wanted64
  %parts = select i1 %few, i64 %grains, i64 %wanted64
{fields(lambda name, kind: f"store atomic {kind} %{name}, ptr %{name}_at")}
  %count = trunc i64 %parts to i32
  store atomic i32 %count, ptr @pending monotonic, align 4
  %old = load atomic i64, ptr @word monotonic, align 8
  %cleared = and i64 %old, -4294967296
  %following = add i64 %cleared, 4294967296
  %word = or i64 %following, %parts
  store atomic i64 %word, ptr @word seq_cst, align 8
  %sleepers = load atomic i32, ptr @sleepers seq_cst, align 4
  %awake = icmp eq i32 %sleepers, 0
  br i1 %awake, label %work, label %rouse
rouse:
  call void @wake(ptr {GENERATION}, i32 {WAKES})
  br label %work
work:
  call void @drain()
  %limit = load i64, ptr @spins
  br label %spin
spin:
  %spun = phi i64 [ 0, %work ], [ %again, %pause ]
  %running = load atomic i32, ptr @pending acquire, align 4
  %finished = icmp eq i32 %running, 0
  br i1 %finished, label %release, label %patient
patient:
  %again = add i64 %spun, 1
  %hopeful = icmp ult i64 %spun, %limit
  br i1 %hopeful, label %pause, label %mark
pause:
  call void @pause()
  br label %spin
mark:
  %unmarked = atomicrmw or ptr @pending, i32 {ASLEEP} acq_rel
  %marked = or i32 %unmarked, {ASLEEP}
  br label %check
check:
  %seen = phi i32 [ %marked, %mark ], [ %later, %nap ]
  %over = icmp eq i32 %seen, {ASLEEP}
  br i1 %over, label %release, label %nap
nap:
  call void @sleep(ptr @pending, i32 %seen)
  %later = load atomic i32, ptr @pending acquire, align 4
  br label %check
release:
  store atomic i32 0, ptr @busy release, align 4
  br label %return
return:
  ret void
}}
"""

# A worker counts itself among the sleepers before it sleeps, and a caller publishes its job before
# it counts them: one of the two sees the other.
WORKER = f"""
define internal void @work() {{
  call i64 @fg_enter()
  %limit = load i64, ptr @spins
  br label %idle
idle:
  br label %spin
spin:
  %spun = phi i64 [ 0, %idle ], [ %again, %pause ]
  %word = load atomic i64, ptr @word seq_cst, align 8
  %left = trunc i64 %word to i32
  %none = icmp eq i32 %left, 0
  br i1 %none, label %empty, label %busy
busy:
  call void @drain()
  br label %idle
empty:
  %quit = load atomic i32, ptr @quit acquire, align 4
  %stay = icmp eq i32 %quit, 0
  br i1 %stay, label %patient, label %leave
leave:
  ret void
patient:
  %again = add i64 %spun, 1
  %hopeful = icmp ult i64 %spun, %limit
  br i1 %hopeful, label %pause, label %nap
pause:
  call void @pause()
  br label %spin
nap:
  %high = lshr i64 %word, 32
  %generation = trunc i64 %high to i32
  atomicrmw add ptr @sleepers, i32 1 seq_cst
  call void @sleep(ptr {GENERATION}, i32 %generation)
  %were = atomicrmw sub ptr @sleepers, i32 1 seq_cst
  %others = icmp sgt i32 %were, 1
  %now = load atomic i64, ptr @word monotonic, align 8
  %more = trunc i64 %now to i32
  %work = icmp sgt i32 %more, 1
  %help = and i1 %others, %work
  br i1 %help, label %rouse, label %idle
rouse:
  call void @wake(ptr {GENERATION}, i32 {WAKES})
  br label %idle
}}
"""

# Workers are started and stopped with the pool taken, so that no job is under way.
CONTROL = f"""
define internal void @take() {{
  br label %try
try:
  %swap = cmpxchg ptr @busy, i32 0, i32 1 acquire monotonic
  %free = extractvalue {{ i32, i1 }} %swap, 1
  br i1 %free, label %taken, label %wait
wait:
  call void @pause()
  br label %try
taken:
  ret void
}}

define void @fg_spin(i64 %count) {{
  br label %loop
loop:
  %spun = phi i64 [ 0, %0 ], [ %next, %loop ]
  call void @pause()
  %next = add i64 %spun, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  ret void
}}

define i32 @fg_start(i32 %count, i64 %spins) {{
  call void @take()
  call void @setup()
  store i64 %spins, ptr @spins
  br label %check
check:
  %made = phi i32 [ 0, %0 ], [ %next, %made_one ]
  %more = icmp slt i32 %made, %count
  br i1 %more, label %make, label %done
make:
  %slot = getelementptr i64, ptr @slots, i32 %made
  %good = call i1 @spawn(ptr %slot)
  br i1 %good, label %made_one, label %done
made_one:
  %next = add i32 %made, 1
  br label %check
done:
  store atomic i32 %made, ptr @workers monotonic, align 4
  store atomic i32 0, ptr @busy release, align 4
  ret i32 %made
}}

define void @fg_stop() {{
  call void @take()
  %workers = load atomic i32, ptr @workers monotonic, align 4
  store atomic i32 0, ptr @workers monotonic, align 4
  store atomic i32 1, ptr @quit seq_cst, align 4
  %word = load atomic i64, ptr @word monotonic, align 8
  %cleared = and i64 %word, -4294967296
  %following = add i64 %cleared, 4294967296
  store atomic i64 %following, ptr @word seq_cst, align 8
  call void @wake(ptr {GENERATION}, i32 {MOST_THREADS})
  br label %check
check:
  %joined = phi i32 [ 0, %0 ], [ %next, %await ]
  %more = icmp slt i32 %joined, %workers
  br i1 %more, label %await, label %done
await:
  %slot = getelementptr i64, ptr @slots, i32 %joined
  call void @join(ptr %slot)
  %next = add i32 %joined, 1
  br label %check
done:
  store atomic i32 0, ptr @quit monotonic, align 4
  store atomic i32 0, ptr @busy release, align 4
  ret void
}}
"""


def processor(target: Target) -> str:
    """How to wait a moment; and arithmetic with denormals, whatever the caller's thread is set to.

    `fg_enter` gives what `fg_leave` puts back. A program calls them around all that it computes.
    """
    if architecture(target.triple) == "x86_64":
        return f"""
declare void @llvm.x86.sse2.pause()
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)

define internal void @pause() {{
  call void @llvm.x86.sse2.pause()
  ret void
}}

define i64 @fg_enter() {{
  %at = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %at)
  %found = load i32, ptr %at
  %state = and i32 %found, {0xFFC0}
  %usual = icmp eq i32 %state, {0x1F80}
  br i1 %usual, label %done, label %set
set:
  store i32 {0x1F80}, ptr %at
  call void @llvm.x86.sse.ldmxcsr(ptr %at)
  br label %done
done:
  %kept = zext i32 %state to i64
  ret i64 %kept
}}

define void @fg_leave(i64 %kept) {{
  %at = alloca i32
  %usual = icmp eq i64 %kept, {0x1F80}
  br i1 %usual, label %done, label %set
set:
  %state = trunc i64 %kept to i32
  store i32 %state, ptr %at
  call void @llvm.x86.sse.ldmxcsr(ptr %at)
  br label %done
done:
  ret void
}}
"""
    return """
declare void @llvm.aarch64.hint(i32)
declare i64 @llvm.aarch64.get.fpcr()
declare void @llvm.aarch64.set.fpcr(i64)

define internal void @pause() {
  call void @llvm.aarch64.hint(i32 1)
  ret void
}

define i64 @fg_enter() {
  %kept = call i64 @llvm.aarch64.get.fpcr()
  %usual = icmp eq i64 %kept, 0
  br i1 %usual, label %done, label %set
set:
  call void @llvm.aarch64.set.fpcr(i64 0)
  br label %done
done:
  ret i64 %kept
}

define void @fg_leave(i64 %kept) {
  %usual = icmp eq i64 %kept, 0
  br i1 %usual, label %done, label %set
set:
  call void @llvm.aarch64.set.fpcr(i64 %kept)
  br label %done
done:
  ret void
}
"""
