"""What the thread pool asks of an operating system, as LLVM IR: to start and join a worker, to
sleep while a word holds a value, to wake sleepers.

Each text defines `@setup`, `@spawn`, `@join`, `@sleep` and `@wake`, and calls `@work` in the
threads it starts. A sleeper may wake for no reason; whoever sleeps looks again.
"""

from funcgrad.compiler.llvm.target import Target, architecture

STACK_BYTES = 4 << 20  # kernels keep tiles on the stack, and musl's own default is 128 KB

# Futexes: the number of the system call, and the operations that stay inside one process.
FUTEX_CALL = {"x86_64": 202, "aarch64": 98}
FUTEX_WAIT, FUTEX_WAKE = 128, 129

# The argument of pthread_sigmask that replaces the whole mask.
SET_MASK = {"linux": 2, "darwin": 3}


def system(target: Target) -> str:
    """The operating system that a triple names."""
    for mark, name in (("linux", "linux"), ("windows", "windows")):
        if mark in target.triple:
            return name
    return "darwin"


def threads(target: Target, sleeping: str | None = None) -> str:
    """The functions above for a Target; `sleeping` may ask for "posix" where there are futexes."""
    here = system(target)
    if here == "windows":
        return WINDOWS
    posix = sleeping == "posix" or here != "linux"
    return pthreads(SET_MASK[here]) + (CONDITION if posix else futex(target))


def futex(target: Target) -> str:
    number = FUTEX_CALL[architecture(target.triple)]
    return f"""
declare i64 @syscall(i64, ...)

define internal void @setup() {{
  ret void
}}

define internal void @sleep(ptr %word, i32 %seen) {{
  call i64 (i64, ...) @syscall(i64 {number}, ptr %word, i32 {FUTEX_WAIT}, i32 %seen, ptr null)
  ret void
}}

define internal void @wake(ptr %word, i32 %count) {{
  call i64 (i64, ...) @syscall(i64 {number}, ptr %word, i32 {FUTEX_WAKE}, i32 %count)
  ret void
}}
"""


# One mutex and one condition serve every word: whoever changes a word does so before it takes the
# mutex to wake, so a sleeper either sees the change or is already waiting for the broadcast.
CONDITION = """
@mutex = internal global [128 x i8] zeroinitializer, align 64
@condition = internal global [128 x i8] zeroinitializer, align 64

declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)

define internal void @setup() {
  call i32 @pthread_mutex_init(ptr @mutex, ptr null)
  call i32 @pthread_cond_init(ptr @condition, ptr null)
  ret void
}

define internal void @sleep(ptr %word, i32 %seen) {
  call i32 @pthread_mutex_lock(ptr @mutex)
  %now = load atomic i32, ptr %word seq_cst, align 4
  %same = icmp eq i32 %now, %seen
  br i1 %same, label %wait, label %done
wait:
  call i32 @pthread_cond_wait(ptr @condition, ptr @mutex)
  br label %done
done:
  call i32 @pthread_mutex_unlock(ptr @mutex)
  ret void
}

define internal void @wake(ptr %word, i32 %count) {
  call i32 @pthread_mutex_lock(ptr @mutex)
  call i32 @pthread_cond_broadcast(ptr @condition)
  call i32 @pthread_mutex_unlock(ptr @mutex)
  ret void
}
"""


def pthreads(set_mask: int) -> str:
    """Workers start with every signal blocked, so that handlers run on the user's threads."""
    return f"""
@every_signal = internal constant [128 x i8] [{", ".join(["i8 -1"] * 128)}], align 16

declare i32 @pthread_attr_init(ptr)
declare i32 @pthread_attr_setstacksize(ptr, i64)
declare i32 @pthread_attr_destroy(ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)

define internal ptr @main(ptr %unused) {{
  call void @work()
  ret ptr null
}}

define internal i1 @spawn(ptr %slot) {{
  %mask = alloca [128 x i8], align 16
  %attributes = alloca [128 x i8], align 16
  call i32 @pthread_attr_init(ptr %attributes)
  call i32 @pthread_attr_setstacksize(ptr %attributes, i64 {STACK_BYTES})
  call i32 @pthread_sigmask(i32 {set_mask}, ptr @every_signal, ptr %mask)
  %failed = call i32 @pthread_create(ptr %slot, ptr %attributes, ptr @main, ptr null)
  call i32 @pthread_sigmask(i32 {set_mask}, ptr %mask, ptr null)
  call i32 @pthread_attr_destroy(ptr %attributes)
  %made = icmp eq i32 %failed, 0
  ret i1 %made
}}

define internal void @join(ptr %slot) {{
  %thread = load i64, ptr %slot
  call i32 @pthread_join(i64 %thread, ptr null)
  ret void
}}
"""


WINDOWS_FUNCTIONS = (
    "CreateThread",
    "WaitForSingleObject",
    "CloseHandle",
    "WaitOnAddress",
    "WakeByAddressSingle",
    "WakeByAddressAll",
)
WINDOWS = f"""
declare ptr @CreateThread(ptr, i64, ptr, ptr, i32, ptr)
declare i32 @WaitForSingleObject(ptr, i32)
declare i32 @CloseHandle(ptr)
declare i32 @WaitOnAddress(ptr, ptr, i64, i32)
declare void @WakeByAddressSingle(ptr)
declare void @WakeByAddressAll(ptr)

define internal void @setup() {{
  ret void
}}

define internal i32 @main(ptr %unused) {{
  call void @work()
  ret i32 0
}}

define internal i1 @spawn(ptr %slot) {{
  ; 0x10000: the size is what to reserve, not what to commit
  %thread = call ptr @CreateThread(ptr null, i64 {STACK_BYTES}, ptr @main, ptr null, i32 65536,
    ptr null)
  store ptr %thread, ptr %slot
  %made = icmp ne ptr %thread, null
  ret i1 %made
}}

define internal void @join(ptr %slot) {{
  %thread = load ptr, ptr %slot
  call i32 @WaitForSingleObject(ptr %thread, i32 -1)
  call i32 @CloseHandle(ptr %thread)
  ret void
}}

define internal void @sleep(ptr %word, i32 %seen) {{
  %value = alloca i32
  store i32 %seen, ptr %value
  call i32 @WaitOnAddress(ptr %word, ptr %value, i64 4, i32 -1)
  ret void
}}

define internal void @wake(ptr %word, i32 %count) {{
  %one = icmp eq i32 %count, 1
  br i1 %one, label %single, label %all
single:
  call void @WakeByAddressSingle(ptr %word)
  ret void
all:
  call void @WakeByAddressAll(ptr %word)
  ret void
}}
"""
