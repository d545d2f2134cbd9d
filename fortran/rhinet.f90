! SPDX-License-Identifier: BSD-3-Clause
!
! rhinet for Fortran 2003: the C library's calls by their names, its structures as types, its
! constants. Installed as source, since compilers do not read each other's modules: compile it once
! with your own, then
!
!    use rhinet
!    type(c_ptr) :: job
!    if (rh_join(job, c_null_ptr) /= 0) error stop rhinet_error_text()
!
! Arguments are as in the C headers, which say what each call does; numbers are of the kinds of
! iso_c_binding, ranks and roots count from 0, and memory is passed by c_loc. What is opaque in C is
! a type(c_ptr) here.
module rhinet
    use, intrinsic :: iso_c_binding
    implicit none
    public

    ! ---- error.h --------------------------------------------------------------------------------
    integer(c_int), parameter :: RH_EDEAD = -3, RH_ENOSEG = -2, RH_ESTALE = -116
    integer(c_int), parameter :: RH_EBOUNDS = -34, RH_ERIGHTS = -13, RH_EEXIST = -17
    integer(c_int), parameter :: RH_EINVALID = -22, RH_ETIMEOUT = -110, RH_EAGAIN = -11
    integer(c_int), parameter :: RH_ENOSPACE = -28, RH_ETOOBIG = -90, RH_EUNSUP = -95
    integer(c_int), parameter :: RH_EREFUSED = -1, RH_ECORRUPT = -74, RH_ECANCELED = -125

    ! ---- job.h, rma.h, msg.h, dsm.h -------------------------------------------------------------
    integer(c_int), parameter :: RH_ANY_RANK = -1, RH_ANY_TAG = -1, RH_OWNER_DIED = 1
    integer(c_int64_t), parameter :: RH_TIMEOUT_DEFAULT = -1, RH_TIMEOUT_NONE = 0
    integer(c_int64_t), parameter :: RH_TIMEOUT_LONGEST = huge(0_c_int64_t)
    integer(c_int), parameter :: RH_READ = 1, RH_WRITE = 2, RH_ATOMIC = 4, RH_ALL = 7
    integer(c_int), parameter :: RH_EQUAL = 0, RH_NOT_EQUAL = 1, RH_AT_LEAST = 2
    integer(c_int), parameter :: RH_INT8 = 0, RH_UINT8 = 1, RH_INT16 = 2, RH_UINT16 = 3
    integer(c_int), parameter :: RH_INT32 = 4, RH_UINT32 = 5, RH_INT64 = 6, RH_UINT64 = 7
    integer(c_int), parameter :: RH_FLOAT = 8, RH_DOUBLE = 9
    integer(c_int), parameter :: RH_SUM = 0, RH_PRODUCT = 1, RH_MIN = 2, RH_MAX = 3
    integer(c_int), parameter :: RH_AND = 4, RH_OR = 5, RH_XOR = 6
    integer(c_int), parameter :: RH_DSM_READ = 1, RH_DSM_WRITE = 2

    type, bind(c) :: rh_remote
        integer(c_int) :: rank = 0
        integer(c_int32_t) :: sid = 0
        integer(c_int64_t) :: offset = 0
    end type

    type, bind(c) :: rh_segment
        integer(c_size_t) :: struct_size = 0
        integer(c_int32_t) :: sid = 0
        type(c_ptr) :: base = c_null_ptr
        integer(c_int64_t) :: length = 0
        integer(c_int) :: rights = 0
        integer(c_int) :: flags = 0
    end type

    type, bind(c) :: rh_done
        integer(c_int64_t) :: state = 0
        integer(c_int) :: rank = 0
    end type

    type, bind(c) :: rh_notice
        type(rh_remote) :: word
        integer(c_int64_t) :: value = 0
    end type

    type, bind(c) :: rh_queue_shape
        integer(c_int32_t) :: slot_count = 0
        integer(c_int32_t) :: slot_length = 0
    end type

    type, bind(c) :: rh_arrival
        type(c_ptr) :: data = c_null_ptr
        integer(c_size_t) :: length = 0
        integer(c_int) :: source = 0
    end type

    type, bind(c) :: rh_wait
        type(c_ptr) :: word = c_null_ptr
        integer(c_int) :: when = RH_EQUAL
        integer(c_int64_t) :: value = 0
        integer(c_int) :: from = RH_ANY_RANK
        integer(c_int64_t) :: timeout_ns = RH_TIMEOUT_DEFAULT
    end type

    type, bind(c) :: rh_status
        integer(c_int) :: source = 0
        integer(c_int) :: tag = 0
        integer(c_size_t) :: length = 0
    end type

    type, bind(c) :: rh_reduction
        integer(c_int) :: type = RH_DOUBLE
        integer(c_int) :: operator_ = RH_SUM
        integer(c_size_t) :: count = 0
    end type

    type, bind(c) :: rh_dsm_options
        integer(c_size_t) :: struct_size = 0
        integer(c_int64_t) :: heap_length = 0
        integer(c_int32_t) :: variable_count = 0
        type(c_ptr) :: msg = c_null_ptr
    end type

    type, bind(c) :: rh_dsm_region
        integer(c_int64_t) :: offset = 0
        integer(c_int64_t) :: length = 0
        integer(c_int64_t) :: block_count = 0
        integer(c_int64_t) :: stride = 0
    end type

    interface
        function rh_join(job, options) bind(c) result(result_)
            import :: c_ptr, c_int
            type(c_ptr), intent(inout) :: job
            type(c_ptr), value :: options
            integer(c_int) :: result_
        end function
        function rh_leave(job) bind(c) result(result_)
            import :: c_ptr, c_int
            type(c_ptr), value :: job
            integer(c_int) :: result_
        end function
        function rh_rank(job) bind(c) result(result_)
            import :: c_ptr, c_int
            type(c_ptr), value :: job
            integer(c_int) :: result_
        end function
        function rh_size(job) bind(c) result(result_)
            import :: c_ptr, c_int
            type(c_ptr), value :: job
            integer(c_int) :: result_
        end function
        function rh_node(job, rank) bind(c) result(result_)
            import :: c_ptr, c_int
            type(c_ptr), value :: job
            integer(c_int), value :: rank
            integer(c_int) :: result_
        end function
        function rh_peer_state(job, rank) bind(c) result(result_)
            import :: c_ptr, c_int
            type(c_ptr), value :: job
            integer(c_int), value :: rank
            integer(c_int) :: result_
        end function
        function rh_error_rank() bind(c) result(result_)
            import :: c_int
            integer(c_int) :: result_
        end function
        function rh_version_number() bind(c) result(result_)
            import :: c_int
            integer(c_int) :: result_
        end function
        function rh_clock_ns(job) bind(c) result(result_)
            import :: c_ptr, c_int64_t
            type(c_ptr), value :: job
            integer(c_int64_t) :: result_
        end function
        function rh_segment_alloc(job, sid, length, base) bind(c) result(result_)
            import :: c_ptr, c_int32_t, c_int64_t, c_int
            type(c_ptr), value :: job
            integer(c_int32_t), value :: sid
            integer(c_int64_t), value :: length
            type(c_ptr), intent(inout) :: base
            integer(c_int) :: result_
        end function
        function rh_segment_attach(job, sid, base, length) bind(c) result(result_)
            import :: c_ptr, c_int32_t, c_int64_t, c_int
            type(c_ptr), value :: job
            integer(c_int32_t), value :: sid
            type(c_ptr), value :: base
            integer(c_int64_t), value :: length
            integer(c_int) :: result_
        end function
        function rh_segment_create(job, segment) bind(c) result(result_)
            import :: c_ptr, rh_segment, c_int
            type(c_ptr), value :: job
            type(rh_segment), intent(inout) :: segment
            integer(c_int) :: result_
        end function
        function rh_segment_detach(job, sid) bind(c) result(result_)
            import :: c_ptr, c_int32_t, c_int
            type(c_ptr), value :: job
            integer(c_int32_t), value :: sid
            integer(c_int) :: result_
        end function
        function rh_segment_wait(job, rank, sid, timeout_ns) bind(c) result(result_)
            import :: c_ptr, c_int, c_int32_t, c_int64_t
            type(c_ptr), value :: job
            integer(c_int), value :: rank
            integer(c_int32_t), value :: sid
            integer(c_int64_t), value :: timeout_ns
            integer(c_int) :: result_
        end function
        function rh_push(job, target, source, length) bind(c) result(result_)
            import :: c_ptr, rh_remote, c_size_t, c_int
            type(c_ptr), value :: job
            type(rh_remote), value :: target
            type(c_ptr), value :: source
            integer(c_size_t), value :: length
            integer(c_int) :: result_
        end function
        function rh_pull(job, source, target, length) bind(c) result(result_)
            import :: c_ptr, rh_remote, c_size_t, c_int
            type(c_ptr), value :: job
            type(rh_remote), value :: source
            type(c_ptr), value :: target
            integer(c_size_t), value :: length
            integer(c_int) :: result_
        end function
        function rh_push_inline(job, target, source, length) bind(c) result(result_)
            import :: c_ptr, rh_remote, c_size_t, c_int
            type(c_ptr), value :: job
            type(rh_remote), value :: target
            type(c_ptr), value :: source
            integer(c_size_t), value :: length
            integer(c_int) :: result_
        end function
        function rh_push_notify(job, target, source, length, notice) bind(c) result(result_)
            import :: c_ptr, rh_remote, c_size_t, rh_notice, c_int
            type(c_ptr), value :: job
            type(rh_remote), value :: target
            type(c_ptr), value :: source
            integer(c_size_t), value :: length
            type(rh_notice), intent(inout) :: notice
            integer(c_int) :: result_
        end function
        function rh_push_start(job, target, source, length, done) bind(c) result(result_)
            import :: c_ptr, rh_remote, c_size_t, rh_done, c_int
            type(c_ptr), value :: job
            type(rh_remote), value :: target
            type(c_ptr), value :: source
            integer(c_size_t), value :: length
            type(rh_done), intent(inout), asynchronous :: done
            integer(c_int) :: result_
        end function
        function rh_pull_start(job, source, target, length, done) bind(c) result(result_)
            import :: c_ptr, rh_remote, c_size_t, rh_done, c_int
            type(c_ptr), value :: job
            type(rh_remote), value :: source
            type(c_ptr), value :: target
            integer(c_size_t), value :: length
            type(rh_done), intent(inout), asynchronous :: done
            integer(c_int) :: result_
        end function
        function rh_wait_done(job, done, timeout_ns) bind(c) result(result_)
            import :: c_ptr, rh_done, c_int64_t, c_int
            type(c_ptr), value :: job
            type(rh_done), intent(inout), asynchronous :: done
            integer(c_int64_t), value :: timeout_ns
            integer(c_int) :: result_
        end function
        function rh_test_done(job, done) bind(c) result(result_)
            import :: c_ptr, rh_done, c_int
            type(c_ptr), value :: job
            type(rh_done), intent(inout), asynchronous :: done
            integer(c_int) :: result_
        end function
        function rh_withdraw(job, done) bind(c) result(result_)
            import :: c_ptr, rh_done, c_int
            type(c_ptr), value :: job
            type(rh_done), intent(inout), asynchronous :: done
            integer(c_int) :: result_
        end function
        function rh_flush(job, rank) bind(c) result(result_)
            import :: c_ptr, c_int
            type(c_ptr), value :: job
            integer(c_int), value :: rank
            integer(c_int) :: result_
        end function
        function rh_wait_word(job, wait) bind(c) result(result_)
            import :: c_ptr, rh_wait, c_int
            type(c_ptr), value :: job
            type(rh_wait), intent(inout) :: wait
            integer(c_int) :: result_
        end function
        function rh_fetch_add(job, target, operand, old) bind(c) result(result_)
            import :: c_ptr, rh_remote, c_int64_t, c_int
            type(c_ptr), value :: job
            type(rh_remote), value :: target
            integer(c_int64_t), value :: operand
            integer(c_int64_t), intent(inout) :: old
            integer(c_int) :: result_
        end function
        function rh_fetch_or(job, target, operand, old) bind(c) result(result_)
            import :: c_ptr, rh_remote, c_int64_t, c_int
            type(c_ptr), value :: job
            type(rh_remote), value :: target
            integer(c_int64_t), value :: operand
            integer(c_int64_t), intent(inout) :: old
            integer(c_int) :: result_
        end function
        function rh_fetch_and(job, target, operand, old) bind(c) result(result_)
            import :: c_ptr, rh_remote, c_int64_t, c_int
            type(c_ptr), value :: job
            type(rh_remote), value :: target
            integer(c_int64_t), value :: operand
            integer(c_int64_t), intent(inout) :: old
            integer(c_int) :: result_
        end function
        function rh_swap(job, target, operand, old) bind(c) result(result_)
            import :: c_ptr, rh_remote, c_int64_t, c_int
            type(c_ptr), value :: job
            type(rh_remote), value :: target
            integer(c_int64_t), value :: operand
            integer(c_int64_t), intent(inout) :: old
            integer(c_int) :: result_
        end function
        function rh_compare_swap(job, target, expected, desired, old) bind(c) result(result_)
            import :: c_ptr, rh_remote, c_int64_t, c_int
            type(c_ptr), value :: job
            type(rh_remote), value :: target
            integer(c_int64_t), value :: expected, desired
            integer(c_int64_t), intent(inout) :: old
            integer(c_int) :: result_
        end function
        function rh_queue_create(job, sid, shape, queue) bind(c) result(result_)
            import :: c_ptr, c_int32_t, rh_queue_shape, c_int
            type(c_ptr), value :: job
            integer(c_int32_t), value :: sid
            type(rh_queue_shape), value :: shape
            type(c_ptr), intent(inout) :: queue
            integer(c_int) :: result_
        end function
        function rh_queue_destroy(queue) bind(c) result(result_)
            import :: c_ptr, c_int
            type(c_ptr), value :: queue
            integer(c_int) :: result_
        end function
        function rh_append(job, rank, sid, data, length) bind(c) result(result_)
            import :: c_ptr, c_int, c_int32_t, c_size_t
            type(c_ptr), value :: job
            integer(c_int), value :: rank
            integer(c_int32_t), value :: sid
            type(c_ptr), value :: data
            integer(c_size_t), value :: length
            integer(c_int) :: result_
        end function
        function rh_append_try(job, rank, sid, data, length) bind(c) result(result_)
            import :: c_ptr, c_int, c_int32_t, c_size_t
            type(c_ptr), value :: job
            integer(c_int), value :: rank
            integer(c_int32_t), value :: sid
            type(c_ptr), value :: data
            integer(c_size_t), value :: length
            integer(c_int) :: result_
        end function
        function rh_queue_next(queue, arrival, timeout_ns) bind(c) result(result_)
            import :: c_ptr, rh_arrival, c_int64_t, c_int
            type(c_ptr), value :: queue
            type(rh_arrival), intent(inout) :: arrival
            integer(c_int64_t), value :: timeout_ns
            integer(c_int) :: result_
        end function
        subroutine rh_queue_release(queue) bind(c)
            import :: c_ptr
            type(c_ptr), value :: queue
        end subroutine
        function rh_msg_open(msg, job) bind(c) result(result_)
            import :: c_ptr, c_int
            type(c_ptr), intent(inout) :: msg
            type(c_ptr), value :: job
            integer(c_int) :: result_
        end function
        function rh_msg_close(msg) bind(c) result(result_)
            import :: c_ptr, c_int
            type(c_ptr), value :: msg
            integer(c_int) :: result_
        end function
        function rh_send(msg, rank, tag, data, length) bind(c) result(result_)
            import :: c_ptr, c_int, c_size_t
            type(c_ptr), value :: msg
            integer(c_int), value :: rank, tag
            type(c_ptr), value :: data
            integer(c_size_t), value :: length
            integer(c_int) :: result_
        end function
        function rh_recv(msg, rank, tag, buffer, room, status) bind(c) result(result_)
            import :: c_ptr, c_int, c_size_t, rh_status
            type(c_ptr), value :: msg
            integer(c_int), value :: rank, tag
            type(c_ptr), value :: buffer
            integer(c_size_t), value :: room
            type(rh_status), intent(inout) :: status
            integer(c_int) :: result_
        end function
        function rh_isend(msg, rank, tag, data, length, request) bind(c) result(result_)
            import :: c_ptr, c_int, c_size_t
            type(c_ptr), value :: msg
            integer(c_int), value :: rank, tag
            type(c_ptr), value :: data
            integer(c_size_t), value :: length
            type(c_ptr), intent(inout) :: request
            integer(c_int) :: result_
        end function
        function rh_irecv(msg, rank, tag, buffer, room, request) bind(c) result(result_)
            import :: c_ptr, c_int, c_size_t
            type(c_ptr), value :: msg
            integer(c_int), value :: rank, tag
            type(c_ptr), value :: buffer
            integer(c_size_t), value :: room
            type(c_ptr), intent(inout) :: request
            integer(c_int) :: result_
        end function
        function rh_test_request(request, status) bind(c) result(result_)
            import :: c_ptr, rh_status, c_int
            type(c_ptr), value :: request
            type(rh_status), intent(inout) :: status
            integer(c_int) :: result_
        end function
        function rh_wait_request(request, status, timeout_ns) bind(c) result(result_)
            import :: c_ptr, rh_status, c_int64_t, c_int
            type(c_ptr), value :: request
            type(rh_status), intent(inout) :: status
            integer(c_int64_t), value :: timeout_ns
            integer(c_int) :: result_
        end function
        function rh_cancel(request) bind(c) result(result_)
            import :: c_ptr, c_int
            type(c_ptr), value :: request
            integer(c_int) :: result_
        end function
        function rh_probe(msg, rank, tag, status, timeout_ns) bind(c) result(result_)
            import :: c_ptr, c_int, rh_status, c_int64_t
            type(c_ptr), value :: msg
            integer(c_int), value :: rank, tag
            type(rh_status), intent(inout) :: status
            integer(c_int64_t), value :: timeout_ns
            integer(c_int) :: result_
        end function
        function rh_lock(msg, lock, timeout_ns) bind(c) result(result_)
            import :: c_ptr, c_int32_t, c_int64_t, c_int
            type(c_ptr), value :: msg
            integer(c_int32_t), value :: lock
            integer(c_int64_t), value :: timeout_ns
            integer(c_int) :: result_
        end function
        function rh_lock_try(msg, lock) bind(c) result(result_)
            import :: c_ptr, c_int32_t, c_int
            type(c_ptr), value :: msg
            integer(c_int32_t), value :: lock
            integer(c_int) :: result_
        end function
        function rh_unlock(msg, lock) bind(c) result(result_)
            import :: c_ptr, c_int32_t, c_int
            type(c_ptr), value :: msg
            integer(c_int32_t), value :: lock
            integer(c_int) :: result_
        end function
        function rh_set_create(msg, spec, set) bind(c) result(result_)
            import :: c_ptr, c_int
            type(c_ptr), value :: msg, spec
            type(c_ptr), intent(inout) :: set
            integer(c_int) :: result_
        end function
        function rh_set_destroy(set) bind(c) result(result_)
            import :: c_ptr, c_int
            type(c_ptr), value :: set
            integer(c_int) :: result_
        end function
        function rh_set_rank(set) bind(c) result(result_)
            import :: c_ptr, c_int
            type(c_ptr), value :: set
            integer(c_int) :: result_
        end function
        function rh_set_size(set) bind(c) result(result_)
            import :: c_ptr, c_int
            type(c_ptr), value :: set
            integer(c_int) :: result_
        end function
        function rh_barrier(set, timeout_ns) bind(c) result(result_)
            import :: c_ptr, c_int64_t, c_int
            type(c_ptr), value :: set
            integer(c_int64_t), value :: timeout_ns
            integer(c_int) :: result_
        end function
        function rh_barrier_all(job) bind(c) result(result_)
            import :: c_ptr, c_int
            type(c_ptr), value :: job
            integer(c_int) :: result_
        end function
        function rh_broadcast(set, root, buffer, length) bind(c) result(result_)
            import :: c_ptr, c_int, c_size_t
            type(c_ptr), value :: set
            integer(c_int), value :: root
            type(c_ptr), value :: buffer
            integer(c_size_t), value :: length
            integer(c_int) :: result_
        end function
        function rh_reduce(set, root, source, target, reduction) bind(c) result(result_)
            import :: c_ptr, c_int, rh_reduction
            type(c_ptr), value :: set
            integer(c_int), value :: root
            type(c_ptr), value :: source, target
            type(rh_reduction), intent(inout) :: reduction
            integer(c_int) :: result_
        end function
        function rh_allreduce(set, source, target, reduction) bind(c) result(result_)
            import :: c_ptr, rh_reduction, c_int
            type(c_ptr), value :: set, source, target
            type(rh_reduction), intent(inout) :: reduction
            integer(c_int) :: result_
        end function
        function rh_gather(set, root, source, target, length) bind(c) result(result_)
            import :: c_ptr, c_int, c_size_t
            type(c_ptr), value :: set
            integer(c_int), value :: root
            type(c_ptr), value :: source, target
            integer(c_size_t), value :: length
            integer(c_int) :: result_
        end function
        function rh_scatter(set, root, source, target, length) bind(c) result(result_)
            import :: c_ptr, c_int, c_size_t
            type(c_ptr), value :: set
            integer(c_int), value :: root
            type(c_ptr), value :: source, target
            integer(c_size_t), value :: length
            integer(c_int) :: result_
        end function
        function rh_allgather(set, source, target, length) bind(c) result(result_)
            import :: c_ptr, c_size_t, c_int
            type(c_ptr), value :: set, source, target
            integer(c_size_t), value :: length
            integer(c_int) :: result_
        end function
        function rh_alltoall(set, source, target, length) bind(c) result(result_)
            import :: c_ptr, c_size_t, c_int
            type(c_ptr), value :: set, source, target
            integer(c_size_t), value :: length
            integer(c_int) :: result_
        end function
        function rh_dsm_open(dsm, job, options) bind(c) result(result_)
            import :: c_ptr, rh_dsm_options, c_int
            type(c_ptr), intent(inout) :: dsm
            type(c_ptr), value :: job
            type(rh_dsm_options), intent(inout) :: options
            integer(c_int) :: result_
        end function
        function rh_dsm_close(dsm) bind(c) result(result_)
            import :: c_ptr, c_int
            type(c_ptr), value :: dsm
            integer(c_int) :: result_
        end function
        function rh_dsm_alloc_named(dsm, name_, length, offset) bind(c) result(result_)
            import :: c_ptr, c_int32_t, c_int64_t, c_int
            type(c_ptr), value :: dsm
            integer(c_int32_t), value :: name_
            integer(c_int64_t), value :: length
            integer(c_int64_t), intent(inout) :: offset
            integer(c_int) :: result_
        end function
        function rh_dsm_ptr(dsm, offset) bind(c) result(result_)
            import :: c_ptr, c_int64_t
            type(c_ptr), value :: dsm
            integer(c_int64_t), value :: offset
            type(c_ptr) :: result_
        end function
        function rh_dsm_bind(dsm, variable, regions, count) bind(c) result(result_)
            import :: c_ptr, c_int32_t, rh_dsm_region, c_size_t, c_int
            type(c_ptr), value :: dsm
            integer(c_int32_t), value :: variable
            type(rh_dsm_region), intent(inout) :: regions
            integer(c_size_t), value :: count
            integer(c_int) :: result_
        end function
        function rh_dsm_acquire(dsm, variable, access, timeout_ns) bind(c) result(result_)
            import :: c_ptr, c_int32_t, c_int, c_int64_t
            type(c_ptr), value :: dsm
            integer(c_int32_t), value :: variable
            integer(c_int), value :: access
            integer(c_int64_t), value :: timeout_ns
            integer(c_int) :: result_
        end function
        function rh_dsm_release(dsm, variable) bind(c) result(result_)
            import :: c_ptr, c_int32_t, c_int
            type(c_ptr), value :: dsm
            integer(c_int32_t), value :: variable
            integer(c_int) :: result_
        end function
        function rh_dsm_barrier(dsm, variables, count, timeout_ns) bind(c) result(result_)
            import :: c_ptr, c_size_t, c_int64_t, c_int
            type(c_ptr), value :: dsm, variables
            integer(c_size_t), value :: count
            integer(c_int64_t), value :: timeout_ns
            integer(c_int) :: result_
        end function
    end interface

    interface
        function rh_error_text_c() bind(c, name="rh_error_text") result(text)
            import :: c_ptr
            type(c_ptr) :: text
        end function
        function rhinet_strlen(text) bind(c, name="strlen") result(length)
            import :: c_ptr, c_size_t
            type(c_ptr), value :: text
            integer(c_size_t) :: length
        end function
    end interface
    private :: rh_error_text_c, rhinet_strlen

contains

    ! A place in another process's memory; offsets count bytes.
    pure function rh_at(rank, sid, offset) result(remote)
        integer, intent(in) :: rank, sid
        integer(c_int64_t), intent(in) :: offset
        type(rh_remote) :: remote
        remote = rh_remote(int(rank, c_int), int(sid, c_int32_t), offset)
    end function

    ! What the calling thread's last failure was, in one sentence.
    function rhinet_error_text() result(text)
        character(len=:), allocatable :: text
        character(kind=c_char), pointer :: letters(:)
        type(c_ptr) :: address
        integer :: i, length
        address = rh_error_text_c()
        length = int(rhinet_strlen(address))
        allocate (character(len=length) :: text)
        if (length == 0) return
        call c_f_pointer(address, letters, [length])
        do i = 1, length
            text(i:i) = letters(i)
        end do
    end function
end module
